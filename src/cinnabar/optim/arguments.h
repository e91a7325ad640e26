// Rows of `optimizer_args` that several optimizers have, and the reading of lists among them (no torch).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::optim {

struct RowText {
  std::string name;
  std::string label;
  std::string help;
};

schema::Option number_row(RowText text, std::optional<double> fallback, schema::Range range);
schema::Option whole_row(RowText text, int64_t fallback, schema::Range range);
schema::Option flag_row(RowText text, bool fallback);

schema::Option betas_row(std::vector<double> fallback);
schema::Option eps_row(double fallback);
schema::Option positive_eps_row(double fallback);  // where 0 would divide 0 by 0
schema::Option weight_decay_row(double fallback);
schema::Option min_8bit_size_row();
// Of the schedule-free optimizers: r and weight_lr_power.
schema::Option averaging_row();
schema::Option averaging_power_row();
schema::Option own_warmup_row();
// Of D-Adaptation and Prodigy.
schema::Option first_estimate_row();
schema::Option growth_rate_row();

// `betas` with `count` numbers. Throws Error{Config} for another number of them.
std::vector<double> checked_betas(const schema::Values& values, size_t count);

}  // namespace cinnabar::optim
