// Matrix products of the fused layers on the CPU, shared out among threads.
#pragma once

#include "cinnabar/nn/cpu_kernels.h"

namespace cinnabar::nn {

// Pieces of b that hold a things.
inline int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// c = bias + add + sum of the terms.
void multiply(const CpuKernels& kernels, const Gemm& gemm);

}  // namespace cinnabar::nn
