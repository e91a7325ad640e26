// What Adam and AdamW share: two moments per parameter and one fused pass over each flat buffer.
#pragma once

#include <memory>

#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

enum class WeightDecay {
  Decoupled,  // shrinks the parameter (AdamW)
  Gradient,   // is added to the gradient (Adam)
};
// `values` has the rows of adam_options. Throws Error{Config}.
std::unique_ptr<Optimizer> make_adam(FlatParameters& parameters, const schema::Values& values, WeightDecay kind);

}  // namespace cinnabar::optim
