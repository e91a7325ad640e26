#include "cinnabar/schema/schema.h"

#include <filesystem>
#include <iostream>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/cli/command.h"
#include "cinnabar/cli/flag_option.h"
#include "cinnabar/cli/schema_command.h"
#include "cinnabar/schema/completeness.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

schema::Schema schema_options() {
  return schema::Schema(
      {{flag_option("Form", "json", "JSON", "Prints JSON for programs and forms; this is the default."),
        flag_option("Form", "markdown", "Markdown", "Prints the page docs/options.md."),
        flag_option("Form", "check", "Check",
                    "Checks that every option has help and that docs/options.md in this folder is current.")}});
}

int check() {
  if (!std::filesystem::exists("docs/options.md")) {
    throw base::Error(base::ErrorCode::Usage,
                      "schema --check compares with docs/options.md, which is not below this folder: run it in the "
                      "folder of the sources");
  }
  const std::vector<schema::DescribedCommand> commands = described_commands();
  std::vector<std::string> findings = schema::incomplete_rows(commands);
  if (base::read_file("docs/options.md") != schema::options_markdown(commands)) {
    findings.push_back("docs/options.md is not current: run \"cinnabar schema --markdown > docs/options.md\"");
  }
  size_t count = 0;
  for (const schema::DescribedCommand& command : commands) count += command.schema.options().size();
  for (const std::string& finding : findings) std::cout << finding << "\n";
  if (findings.empty()) std::cout << count << " options of " << commands.size() << " commands\n";
  return findings.empty() ? 0 : 1;
}

int run_schema(const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(schema_options(), "schema", words);
  if (config.values.flag("check")) return check();
  const bool is_markdown = config.values.flag("markdown") && !config.values.flag("json");
  std::cout << (is_markdown ? schema::options_markdown(described_commands())
                            : schema::schema_json(described_commands()));
  return 0;
}

CINNABAR_REGISTER_COMMAND(schema, {.help = "Prints every option as JSON or Markdown.",
                                   .usage = "[--json | --markdown | --check]",
                                   .order = 80,
                                   .schema = schema_options,
                                   .run = run_schema});

}  // namespace

std::vector<schema::DescribedCommand> described_commands() {
  std::vector<schema::DescribedCommand> result;
  for (const std::string& name : ordered_commands()) {
    const Command& command = commands().at(name);
    if (command.schema) result.push_back({name, command.help, command.schema()});
  }
  return result;
}

}  // namespace cinnabar::cli
