#include "cinnabar/worker/command.h"

namespace cinnabar::worker {

base::Registry<Command>& commands() {
  static base::Registry<Command> registry("engine command");
  return registry;
}

}  // namespace cinnabar::worker
