// The registry of subcommands: one file each, with CINNABAR_REGISTER_COMMAND.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/schema.h"

namespace cinnabar::cli {

struct Command {
  std::string help;                          // one sentence
  std::string usage;                         // after the command's name: "[CONFIG] [--OPTION VALUE ...]"
  int order = 100;                           // place in the list of commands
  std::function<schema::Schema()> schema{};  // options, for help and docs; empty: none
  // Words after the command's name; returns the exit status. Errors are thrown.
  std::function<int(const std::vector<std::string>& words)> run;
};

base::Registry<Command>& commands();
// Names in the order of help.
std::vector<std::string> ordered_commands();

// The program without the process around it: what main does with its arguments. Prints errors to stderr.
int run_program(const std::vector<std::string>& arguments);

}  // namespace cinnabar::cli

#define CINNABAR_REGISTER_COMMAND(identifier, ...) \
  static const bool registered_command_##identifier = ::cinnabar::cli::commands().add(#identifier, __VA_ARGS__)
