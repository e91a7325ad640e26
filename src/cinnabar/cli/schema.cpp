#include "cinnabar/schema/schema.h"

#include <iostream>

#include "cinnabar/cli/command.h"
#include "cinnabar/cli/schema_command.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

schema::Schema own_options() {
  const char* group = "Form";
  return schema::Schema({{{.name = "json",
                           .type = schema::Type::Flag,
                           .fallback = false,
                           .group = group,
                           .label = "JSON",
                           .help = "Prints JSON for programs and forms; this is the default."},
                          {.name = "markdown",
                           .type = schema::Type::Flag,
                           .fallback = false,
                           .group = group,
                           .label = "Markdown",
                           .help = "Prints the page docs/options.md."}}});
}

int run(const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(own_options(), "schema", words);
  const bool is_markdown = config.values.flag("markdown") && !config.values.flag("json");
  std::cout << (is_markdown ? schema::options_markdown(described_commands())
                            : schema::schema_json(described_commands()));
  return 0;
}

CINNABAR_REGISTER_COMMAND(schema, {.help = "Prints every option as JSON or Markdown.",
                                   .usage = "[--json | --markdown]",
                                   .order = 80,
                                   .schema = own_options,
                                   .run = run});

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
