// Rows of lr_scheduler_args that the Python classes share (no torch).
#pragma once

#include <optional>
#include <string>

#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::lr {

constexpr const char* kTorchModule = "torch.optim.lr_scheduler";

struct RowText {
  std::string name;
  std::string label;
  std::string help;
};
schema::Option step_count_row(RowText text, std::optional<int64_t> fallback);  // 1 or more
schema::Option amount_row(RowText text, std::optional<double> fallback, schema::Range range = {0.0, 1e30});

// A number that the user must give. Throws Error{Config}.
int64_t needed_count(const schema::Values& arguments, const std::string& schedule, const std::string& name);
double needed_amount(const schema::Values& arguments, const std::string& schedule, const std::string& name);

}  // namespace cinnabar::lr
