// Matrix products of the fused layers on the CPU, shared out among threads.
#pragma once

#include "cinnabar/nn/cpu_kernels.h"

namespace cinnabar::nn {

// c = bias + add + sum of the terms.
void multiply(const CpuKernels& kernels, const Gemm& gemm);

}  // namespace cinnabar::nn
