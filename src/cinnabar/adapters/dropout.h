// Masks of the adapters' dropouts, as functions of the step.
#pragma once

#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/adapters/step_context.h"

namespace cinnabar::adapters {

struct DropoutRates {
  double element = 0.0;  // network_dropout: single numbers of the low-rank state
  double rank = 0.0;     // rank_dropout: whole ranks of a sample
  double module = 0.0;   // module_dropout: the whole layer in a step
};

// Whether the layer sits this step out. All samples and all processes agree, as one module call does in the reference
// tool.
bool is_module_dropped(const StepContext& context, std::string_view name, const DropoutRates& rates);

// What a low-rank state is multiplied with.
struct StateShape {
  std::vector<int64_t> sizes;  // axis 0 counts samples, or several rows in succession a sample (text chunks)
  int64_t rank_axis = 0;       // the last axis of linear layers, 1 of convolutions
};

// 0 or 1 / (1 - p) for each kind of dropout, multiplied; shaped as `shape` says, dtype and device of `like`. Undefined
// when nothing is dropped: not training, or rates 0. Throws Error{Internal} when axis 0 is no multiple of the context's
// samples.
at::Tensor dropout_mask(const StepContext& context, std::string_view name, const DropoutRates& rates,
                        const StateShape& shape, const at::Tensor& like);

}  // namespace cinnabar::adapters
