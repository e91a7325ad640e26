#include "cinnabar/cli/engine_command.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/cli/event_view.h"
#include "cinnabar/jobs/engine.h"
#include "cinnabar/jobs/run.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/schema/config_text.h"
#include "cinnabar/schema/resolve.h"

namespace cinnabar::cli {

namespace {

int write_config_file(const schema::Schema& schema, schema::Config config) {
  std::filesystem::path path = config.values.maybe_text("config_file").value_or("");
  if (path.empty())
    throw base::Error(base::ErrorCode::Config, "output_config: give the file to write as --output_config FILE");
  if (!path.has_extension()) path += ".toml";
  if (const std::string kind = base::kind_of(path); !kind.empty()) {
    throw base::Error(base::ErrorCode::Config, "output_config: " + path.string() + " exists already (" + kind +
                                                   "); name another file after --output_config, or remove it");
  }
  for (const std::string& notice : config.notices) std::cout << "note: " << base::printable_text(notice) << "\n";
  for (const auto& [option, text] : config.attachments) {
    const std::filesystem::path beside = path.parent_path() / (path.stem().string() + "_" + option + ".txt");
    if (const std::string kind = base::kind_of(beside); !kind.empty()) {
      throw base::Error(base::ErrorCode::Config, "output_config: the text of " + option + " would go to " +
                                                     beside.string() + ", which exists already (" + kind +
                                                     "); name another file after --output_config, or remove it");
    }
    base::write_file(beside, text);
    config.values.set(option, beside.string());
    std::cout << "saved " << base::printable_text(beside.string()) << "\n";
  }
  base::write_file(path, schema::config_toml(schema, config));
  std::cout << "saved " << base::printable_text(path.string()) << "\n";
  return 0;
}

}  // namespace

int run_config(const schema::Schema& schema, const schema::Config& config, const std::string& parent) {
  // Whoever reads the output may go away ("| head"); the run goes on, and its record has the rest.
  ::signal(SIGPIPE, SIG_IGN);
  const bool is_json = config.values.flag("json");
  EventView view(std::cout, std::cerr, {.is_terminal = ::isatty(STDOUT_FILENO) == 1});
  for (const std::string& notice : config.notices) view.print("note: " + notice);
  const auto named = config.values.maybe_text("workspace");
  const std::filesystem::path workspace = named ? std::filesystem::path(*named) : jobs::default_workspace();
  const jobs::RunHandlers handlers{
      .event =
          [&](const nlohmann::ordered_json& event) {
            if (!is_json) return view.show(event);
            std::cout << event.dump() << "\n" << std::flush;
          },
      .engine_line = [&](const std::string& line) { view.print(line); },
      .interrupted =
          [&](int count) {
            const char* first =
                config.command == "train" ? "Finishing the step and saving." : "Finishing what is begun.";
            view.print(count == 1 ? std::string(first) + " Interrupt again to end at once." : "Ending at once.");
          }};
  const jobs::RunOutcome outcome = jobs::run(schema, config, jobs::find_engine(), workspace, handlers, parent);
  view.finish();
  if (outcome.message.empty() && !is_json)
    std::cout << "record: " << base::printable_text(outcome.record.string()) << "\n";
  if (!outcome.message.empty())
    std::cerr << "cinnabar: " << base::printable_text(outcome.message)
              << "\nRecord of the run: " << base::printable_text(outcome.record.string()) << "\n";
  return outcome.exit_status;
}

int run_engine_command(const std::string& command, const schema::Schema& schema,
                       const std::vector<std::string>& words) {
  const schema::Config config = schema::read_config(schema, command, words);
  if (config.values.flag("output_config")) return write_config_file(schema, config);
  return run_config(schema, config);
}

}  // namespace cinnabar::cli
