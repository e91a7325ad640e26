// The rules of a run that depend on its optimizer (no torch): which one is meant, what it changes in other settings.
#pragma once

#include <optional>
#include <string>

#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

// Reads optimizer_type, use_8bit_adam and use_lion_optimizer, completes optimizer_args and lr_scheduler in
// `rules.values` as the reference does (so that files say the same) and calls the entry's own rules. Throws
// Error{Config}.
void apply_rules(RunRules& rules);

// Text of the value of one of the optimizer_args in `values`, as given.
std::optional<std::string> given_argument(const schema::Values& values, const std::string& key);
// Adds "key=text" to optimizer_args, or changes it in its place.
void set_argument(schema::Values& values, const std::string& key, const std::string& text);

// Rules that several entries share.
void say_paging_is_unneeded(RunRules& rules);
void expect_rate_near_one(RunRules& rules);  // D-Adaptation and Prodigy find the step size themselves
void refuse_different_rates(RunRules& rules);
void take_constant_schedule(RunRules& rules);  // schedule-free ones
void give_momentum(RunRules& rules);           // SGD with Nesterov: 0.9 when none is given

}  // namespace cinnabar::optim
