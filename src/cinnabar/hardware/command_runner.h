// Running the vendors' tools: no shell, a time limit, all at once.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

// One line a command, its words parted by blanks; the program is looked for in PATH and in ROCm's folders. Exit 127:
// not there; 124: did not end in time; 128 + n: ended by signal n.
std::map<std::string, CommandResult> run_commands(const std::vector<std::string>& lines, std::chrono::seconds limit);
// One command with its words given, program first (an absolute path).
CommandResult run_command(const std::vector<std::string>& words, std::chrono::seconds limit);

}  // namespace cinnabar::hardware
