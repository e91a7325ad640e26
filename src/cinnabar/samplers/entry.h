// Descriptions of the samplers (no torch): the values of `sample_sampler`.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/option.h"

namespace cinnabar::samplers {

struct Entry {
  std::string help;
  std::string label{};                    // in other programs and in pictures' texts: "Euler a"; empty: the name
  std::vector<schema::Option> options{};  // samplers that share a row list it each; equal names mean the same row
  std::string alias_of{};                 // another name of that entry, for example "k_euler" of "euler"
};

base::Registry<Entry>& entries();

// Adds the entry, with the rows that all samplers have, and "k_NAME" style aliases that sd-scripts knows.
bool add_entry(const std::string& name, Entry entry, const std::vector<std::string>& aliases);

// Rows that several samplers share.
schema::Option karras_option();
schema::Option spacing_option();
schema::Option clip_option();
schema::Option solver_order_option();

}  // namespace cinnabar::samplers

// CINNABAR_REGISTER_SAMPLER(identifier, "name", entry, {"alias", ...})
#define CINNABAR_REGISTER_SAMPLER(identifier, ...) \
  static const bool registered_sampler_##identifier = ::cinnabar::samplers::add_entry(__VA_ARGS__)
