// One Adam step over plain memory (no torch), for the CPU.
#pragma once

#include <cstdint>

namespace cinnabar::optim {

// fp32 copies of one step's numbers.
struct AdamCoefficients {
  // 1 - beta is rounded once: from a rounded beta it would be off by 1e-5 of itself.
  float new_mean = 0.1F;  // 1 - beta1
  float beta2 = 0.999F;
  float new_square = 0.001F;  // 1 - beta2
  float eps = 1e-8F;
  float keep = 1.0F;        // factor on the parameter: 1 - lr * decay when the decay is decoupled
  float decay = 0.0F;       // share of the parameter that joins the gradient, else
  float step_size = 0.0F;   // lr / (1 - beta1^t)
  float root_scale = 1.0F;  // sqrt(1 - beta2^t)
};

// All arrays have `count` elements. `largest` is null without AMSGrad.
struct AdamArrays {
  float* values;
  const float* gradients;
  float* means;
  float* squares;
  float* largest;
};
void adam_step(const AdamArrays& arrays, int64_t begin, int64_t end, const AdamCoefficients& coefficients);

}  // namespace cinnabar::optim
