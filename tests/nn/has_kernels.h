// Whether this processor has kernels of ours; a test without them says so and has nothing to check.
#pragma once

#include <doctest/doctest.h>

#include "cinnabar/nn/cpu_kernels.h"

namespace cinnabar::nn {

inline bool has_kernels() {
  if (cpu_kernels() == nullptr) MESSAGE("this processor has neither AVX2 nor AVX-512: nothing to check");
  return cpu_kernels() != nullptr;
}

}  // namespace cinnabar::nn
