// The registry of what the engine can do: one file a command, with CINNABAR_REGISTER_WORKER_COMMAND.
#pragma once

#include <atomic>
#include <functional>

#include "cinnabar/base/events.h"
#include "cinnabar/base/registry.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::worker {

struct Command {
  // Returns the exit status. `stop` becomes true on the first SIGINT or SIGTERM: finish the step, save, return. Errors
  // are thrown: base::Error or c10::Error.
  std::function<int(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop)> run;
};

base::Registry<Command>& commands();

}  // namespace cinnabar::worker

#define CINNABAR_REGISTER_WORKER_COMMAND(identifier, ...)    \
  static const bool registered_worker_command_##identifier = \
      ::cinnabar::worker::commands().add(#identifier, __VA_ARGS__)
