// Steps whose running means may be kept in 8 bits: AdamW, Lion and SGD with momentum.
#pragma once

#include <memory>
#include <optional>

#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

// What `optimizer_args` say of the form of the running means: `min_8bit_size`, absent in entries without 8-bit state.
std::optional<int64_t> min_8bit_size_of(const schema::Values& values);

// betas, eps, weight_decay. Throws Error{Config}.
std::unique_ptr<Optimizer> make_stored_adamw(FlatParameters& parameters, const schema::Values& values);
// betas, weight_decay, decoupled_weight_decay (may be absent).
std::unique_ptr<Optimizer> make_stored_lion(FlatParameters& parameters, const schema::Values& values);
// momentum, weight_decay; dampening may be absent. `is_nesterov` looks one step ahead.
std::unique_ptr<Optimizer> make_stored_sgd(FlatParameters& parameters, const schema::Values& values, bool is_nesterov);

}  // namespace cinnabar::optim
