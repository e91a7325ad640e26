// From sources to one validated configuration: command line over file over defaults, everything checked, all problems
// at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cinnabar/schema/source.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::schema {

struct Config {
  std::string command;                           // "train", "sample", ...
  Values values;                                 // every option of the command that has a value, given or by default
  std::map<std::string, std::string> origins{};  // options that were given -> where
  std::vector<std::string> notices{};            // for the user
  std::map<std::string, std::string> attachments{};  // option -> text to write to a file before the run
};

// `sources` in ascending precedence. Checks types, ranges, choices, entries of registries and their arguments, paths,
// what options demand of each other; adds to `problems`.
Config resolve(const Schema& schema, const std::string& command, const std::vector<Source>& sources,
               Problems& problems);

// The whole way for a command: words of the command line, with the file that they name. Throws Error{Config} with all
// problems.
Config read_config(const Schema& schema, const std::string& command, const std::vector<std::string>& words);

// Rules between options, for those that the configuration has (cross_checks.cpp).
void cross_check(const Config& config, const std::map<std::string, Given>& given, Problems& problems);

// What would stop a run hours later, or after the model is loaded: folders that cannot be made, files that are not
// there (early_paths.cpp).
void check_early_paths(const Config& config, const std::map<std::string, Given>& given, Problems& problems);

// A sentence for each given option that has no effect without another one (idle_options.cpp).
std::vector<std::string> idle_options(const Schema& schema, const Config& config,
                                      const std::map<std::string, Given>& given);

// A sentence for each option that was left out although its default seldom fits (run_notes.cpp).
std::vector<std::string> run_notes(const Config& config, const std::map<std::string, Given>& given);

}  // namespace cinnabar::schema
