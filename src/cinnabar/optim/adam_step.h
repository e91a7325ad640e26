// What Adam and AdamW share: two moments per parameter and one fused pass over each flat buffer.
#pragma once

#include <memory>
#include <vector>

#include "cinnabar/schema/option.h"

#ifdef CINNABAR_ENGINE
#include "cinnabar/optim/optimizer.h"
#endif

namespace cinnabar::optim {

// betas, eps, weight_decay and amsgrad.
std::vector<schema::Option> adam_options(double weight_decay);

#ifdef CINNABAR_ENGINE
enum class WeightDecay {
  Decoupled,  // shrinks the parameter (AdamW)
  Gradient,   // is added to the gradient (Adam)
};
std::unique_ptr<Optimizer> make_adam(FlatParameters& parameters, const schema::Values& values, WeightDecay kind);
#endif

}  // namespace cinnabar::optim
