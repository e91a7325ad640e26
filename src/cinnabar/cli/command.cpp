#include "cinnabar/cli/command.h"

#include <algorithm>

namespace cinnabar::cli {

base::Registry<Command>& commands() {
  static base::Registry<Command> registry("command");
  return registry;
}

std::vector<std::string> ordered_commands() {
  std::vector<std::string> names = commands().names();
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return commands().at(a).order < commands().at(b).order;
  });
  return names;
}

}  // namespace cinnabar::cli
