#include "cinnabar/optim/adam_options.h"

namespace cinnabar::optim {

using schema::Level;
using schema::Type;

std::vector<schema::Option> adam_options(double weight_decay) {
  return {{.name = "betas",
           .type = Type::FloatList,
           .fallback = std::vector<double>{0.9, 0.999},
           .range = schema::Range{0.0, 0.999999},
           .group = "Optimizer",
           .level = Level::Expert,
           .label = "Betas",
           .help = "How much of the old mean and of the old mean square of the gradient each step keeps."},
          {.name = "eps",
           .type = Type::Float,
           .fallback = 1e-8,
           .range = schema::Range{0.0, 1.0},
           .group = "Optimizer",
           .level = Level::Expert,
           .label = "Epsilon",
           .help = "Added to the root of the mean square, so that tiny gradients do not make huge steps."},
          {.name = "weight_decay",
           .type = Type::Float,
           .fallback = weight_decay,
           .range = schema::Range{0.0, 100.0},
           .typical = schema::Range{0.0, 0.1},
           .group = "Optimizer",
           .level = Level::Advanced,
           .label = "Weight decay",
           .help = "Pulls parameters towards 0. Higher values hold the training back."},
          {.name = "amsgrad",
           .type = Type::Flag,
           .fallback = false,
           .group = "Optimizer",
           .level = Level::Expert,
           .label = "AMSGrad",
           .help = "Uses the largest mean square so far instead of the current one."}};
}

}  // namespace cinnabar::optim
