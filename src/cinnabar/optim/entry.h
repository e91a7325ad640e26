// Descriptions of the optimizers (no torch): name, help and the keys that `optimizer_args` takes.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::optim {

struct Entry {
  std::string label;  // as users write it: "AdamW"
  std::string help;
  std::vector<schema::Option> options{};
  std::string reference_class{};  // module and class in the metadata of files (ss_optimizer)
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
