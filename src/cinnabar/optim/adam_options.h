// Arguments of Adam and AdamW (no torch).
#pragma once

#include <vector>

#include "cinnabar/schema/option.h"

namespace cinnabar::optim {

// betas, eps, weight_decay and amsgrad.
std::vector<schema::Option> adam_options(double weight_decay);

}  // namespace cinnabar::optim
