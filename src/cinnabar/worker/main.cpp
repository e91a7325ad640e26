// The engine: cinnabar-worker COMMAND --config FILE --events-fd N. Started by the front program and the server, never
// by users; reads its configuration from FILE (schema/config_text.h) and tells what happens through descriptor N
// (docs/events.md).
#include <ATen/Parallel.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/events.h"
#include "cinnabar/schema/config_text.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/stored_values.h"
#include "cinnabar/train/run_data.h"
#include "cinnabar/worker/attention_setup.h"
#include "cinnabar/worker/command.h"
#include "cinnabar/worker/process_setup.h"
#include "cinnabar/worker/translate_error.h"

namespace {

using cinnabar::base::Error;
using cinnabar::base::ErrorCode;

struct Arguments {
  std::string command;
  std::string config;
  int events_fd = -1;
};

Arguments parse(int count, char** words) {
  Arguments arguments;
  if (count == 6 && std::string(words[2]) == "--config" && std::string(words[4]) == "--events-fd") {
    arguments = {words[1], words[3], std::atoi(words[5])};
  }
  if (arguments.events_fd < 1) {
    throw Error(ErrorCode::Usage,
                "this is the engine of Cinnabar, which \"cinnabar\" starts; run \"cinnabar --help\" instead");
  }
  return arguments;
}

// The front program has checked all of it; the file may have been changed, or written by hand.
void check(const cinnabar::schema::Config& config) {
  using namespace cinnabar::schema;
  const std::string& command = config.command;
  if (command == "train" || command == "scan") check_stored_values(train_schema(), config.values);
  if (command == "sample") check_stored_values(sample_schema(), config.values);
  if (command == "cache") check_stored_values(cache_schema(), config.values);
  if (command == "init_model") check_stored_values(init_model_schema(), config.values);
  if (command == "demo") check_stored_values(demo_schema(), config.values);
}

int execute(const Arguments& arguments, cinnabar::base::EventSink& events, const std::atomic<bool>& stop) {
  const cinnabar::worker::Command* command = cinnabar::worker::commands().find(arguments.command);
  if (command == nullptr) {
    throw Error(ErrorCode::Usage, arguments.command + " is not part of this build of the engine");
  }
  cinnabar::schema::Config config = cinnabar::schema::parse_config_json(cinnabar::base::read_file(arguments.config));
  check(config);
  // The configuration lies in the run's record, which is where reports go.
  config.values.set(cinnabar::train::kRunFolder, std::filesystem::absolute(arguments.config).parent_path().string());
  const int64_t threads = config.values.maybe_integer("threads").value_or(0);
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
  if (const std::string text = cinnabar::worker::set_up_attention(config.values); !text.empty()) events.log(text);
  const int status = command->run(config.values, events, stop);
  return status == 0 && stop ? cinnabar::base::exit_status(ErrorCode::Cancelled) : status;
}

int report(cinnabar::base::EventSink& events) {
  const Error error = cinnabar::worker::translate_current_exception();
  events.error(error);
  // Details of a fault of ours, for the log; of other errors the context is a word for programs.
  if (error.code() == ErrorCode::Internal && !error.context().empty()) std::cerr << error.context() << "\n";
  return cinnabar::base::exit_status(error.code());
}

}  // namespace

int main(int count, char** words) {
  const std::atomic<bool>& stop = cinnabar::worker::set_up_process();
  Arguments arguments;
  try {
    arguments = parse(count, words);
  } catch (const Error& error) {
    std::cerr << "cinnabar-worker: " << error.message() << "\n";
    return cinnabar::base::exit_status(error.code());
  }
  cinnabar::base::DescriptorEvents events(arguments.events_fd);
  try {
    return execute(arguments, events, stop);
  } catch (...) {
    return report(events);
  }
}
