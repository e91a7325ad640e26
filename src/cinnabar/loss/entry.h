// Descriptions of losses and loss weights (no torch): each brings its own option rows.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/option.h"

namespace cinnabar::loss {

struct Entry {
  std::string help;
  // Losses that share rows (huber_c of huber and smooth_l1) list them all; equal names mean the same row.
  std::vector<schema::Option> options{};
  int order = 0;  // weights act in ascending order
};

// Element-wise losses: the values of `loss_type`.
base::Registry<Entry>& entries();
// Weights per sample. The option that switches a weight on has the weight's name.
base::Registry<Entry>& weight_entries();

}  // namespace cinnabar::loss

#define CINNABAR_REGISTER_LOSS(identifier, ...) \
  static const bool registered_loss_##identifier = ::cinnabar::loss::entries().add(#identifier, __VA_ARGS__)
#define CINNABAR_REGISTER_LOSS_WEIGHT(identifier, ...)    \
  static const bool registered_loss_weight_##identifier = \
      ::cinnabar::loss::weight_entries().add(#identifier, __VA_ARGS__)
