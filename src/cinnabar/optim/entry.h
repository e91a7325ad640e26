// Descriptions of the optimizers (no torch): name, help and the keys that `optimizer_args` takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::optim {

// What an optimizer may change in the settings of its run before it starts, and what the user is told (run_rules.h).
struct RunRules {
  schema::Values& values;              // of the run; what is changed here stands in the metadata of files
  std::vector<double> rates;           // base learning rate of each group of parameters
  std::vector<std::string> notices{};  // full sentences
  bool is_schedule_constant = false;   // no schedule acts on the rates
};

struct Entry {
  std::string label;  // as users write it: "AdamW"
  std::string help;
  std::vector<schema::Option> options{};
  std::string reference_class{};           // module and class in the metadata of files (ss_optimizer)
  std::vector<std::string> aliases{};      // further names, as users write them
  std::function<void(RunRules&)> rules{};  // may be empty; throws Error{Config} for settings that do not fit
};

// Keys are lower-case: names of optimizers do not depend on case.
base::Registry<Entry>& entries();

// Key of a value of `optimizer_type`; "" is "adamw". Throws Error{Config} that names the nearest and all known ones.
std::string entry_name(const std::string& optimizer_type);

// `optimizer_args` read against the entry's rows, with fallbacks. Throws Error{Config}.
schema::Values read_arguments(const std::string& entry, const std::vector<std::string>& arguments);

}  // namespace cinnabar::optim

#define CINNABAR_REGISTER_OPTIMIZER(identifier, ...) \
  static const bool registered_optimizer_##identifier = ::cinnabar::optim::entries().add(#identifier, __VA_ARGS__)
