// Convolutions of the fused layers on the CPU, channels last.
#pragma once

#include "cinnabar/nn/cpu_kernels.h"

namespace cinnabar::nn {

// Square kernel, the same stride and padding on both sides. Weights [out, kernel, kernel, in].
struct ConvShape {
  int64_t batch = 0;
  int64_t height = 0;  // of the input
  int64_t width = 0;
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 1;

  int64_t out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  int64_t out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
  bool is_pointwise() const { return kernel == 1 && stride == 1 && padding == 0; }
  // By Winograd's algorithm, which pays where the transformed weights meet enough tiles. By the shape of one sample
  // alone, so that forward, backward, other splits of a batch and a resumed run agree.
  bool is_winograd() const {
    return kernel == 3 && stride == 1 && padding == 1 && in % 16 == 0 && out % 16 == 0 && height * width >= 32;
  }
};

struct ConvSum {
  const float* bias = nullptr;  // [out], or null
  int64_t bias_batch = 0;       // distance of the biases of two samples, 0: all have the same; with winograd only
  const float* add = nullptr;   // like the result, or null
};

// x [batch, height, width, in] -> y [batch, out_height, out_width, out] = convolution + bias + add.
void convolve(const CpuKernels& kernels, const ConvShape& shape, const float* x, const float* weights,
              const ConvSum& sum, float* y);
// gradient of y -> gradient of x.
void convolve_back(const CpuKernels& kernels, const ConvShape& shape, const float* gradient, const float* weights,
                   float* x_gradient);

}  // namespace cinnabar::nn
