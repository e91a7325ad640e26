#include "cinnabar/nn/cpu_convolution.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>

#include "cinnabar/nn/cpu_gemm.h"
#include "cinnabar/tensor/parallel.h"

namespace cinnabar::nn {

namespace {

// Floats of transformed inputs, or of patches, that are held at once: 32 MiB.
constexpr int64_t kMostFloats = int64_t{8} << 20;

// Rows of transformed inputs lie a little more than a multiple of the cache's way apart.
constexpr int64_t kRowGap = 16;

void run_winograd(const CpuKernels& kernels, Winograd task) {
  const int64_t tiles = task.batch * divided_up(task.height, 2) * divided_up(task.width, 2);
  task.tile_row = task.in + kRowGap;
  const int64_t panels = divided_up(task.out, kernels.panel);
  const int64_t fitting = std::max(kernels.winograd_tiles, kMostFloats / (16 * task.tile_row));
  const int64_t chunks = divided_up(tiles, fitting);
  task.tiles = tensor::thread_scratch(tensor::Scratch::Shared, 16 * divided_up(tiles, chunks) * task.tile_row);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    task.tile_first = tiles * chunk / chunks;
    task.tile_count = tiles * (chunk + 1) / chunks - task.tile_first;
    tensor::for_ranges(task.tile_count, 8,
                       [&](int64_t begin, int64_t end) { kernels.winograd_input(task, begin, end); });
    // More pieces of tiles than needed only where the panels do not keep all threads busy.
    int64_t pieces = divided_up(task.tile_count, kernels.winograd_tiles);
    const int64_t threads = at::get_num_threads();
    if (panels * pieces < threads) pieces = std::min(divided_up(threads, panels), divided_up(task.tile_count, 16));
    tensor::for_units(panels * pieces, [&](int64_t unit) {
      const int64_t piece = unit / panels;
      kernels.winograd_block(task, task.tile_count * piece / pieces, task.tile_count * (piece + 1) / pieces,
                             unit % panels * kernels.panel,
                             tensor::thread_scratch(tensor::Scratch::Kernel, kernels.scratch.winograd));
    });
  }
}

// The patch of each result [kernel, kernel, in] in a row, for `rows` rows of results from `first` on.
void gather_patches(const ConvShape& shape, const float* x, int64_t first, int64_t rows, float* patches) {
  const int64_t across = shape.out_width();
  const int64_t down = shape.out_height();
  const int64_t patch = shape.kernel * shape.kernel * shape.in;
  tensor::for_units(rows, [&](int64_t row) {
    const int64_t sample = (first + row) / down;
    const int64_t top = (first + row) % down * shape.stride - shape.padding;
    for (int64_t i = 0; i < across; ++i) {
      float* to = patches + (row * across + i) * patch;
      for (int64_t ky = 0; ky < shape.kernel; ++ky) {
        for (int64_t kx = 0; kx < shape.kernel; ++kx, to += shape.in) {
          const int64_t y = top + ky;
          const int64_t left = i * shape.stride - shape.padding + kx;
          const bool is_inside = y >= 0 && y < shape.height && left >= 0 && left < shape.width;
          const size_t bytes = static_cast<size_t>(shape.in) * sizeof(float);
          if (is_inside) {
            std::memcpy(to, x + ((sample * shape.height + y) * shape.width + left) * shape.in, bytes);
          } else {
            std::memset(to, 0, bytes);
          }
        }
      }
    }
  });
}

// Adds the gradients of patches to where they came from: one sample.
void scatter_patches(const ConvShape& shape, const float* patches, float* x_gradient) {
  const int64_t across = shape.out_width();
  const int64_t down = shape.out_height();
  const int64_t patch = shape.kernel * shape.kernel * shape.in;
  // Rows of the input, each summed by one thread in a fixed order.
  tensor::for_units(shape.height, [&](int64_t y) {
    float* row = x_gradient + y * shape.width * shape.in;
    std::memset(row, 0, static_cast<size_t>(shape.width * shape.in) * sizeof(float));
    for (int64_t ky = 0; ky < shape.kernel; ++ky) {
      const int64_t offset = y + shape.padding - ky;
      if (offset < 0 || offset % shape.stride != 0 || offset / shape.stride >= down) continue;
      for (int64_t i = 0; i < across; ++i) {
        const float* from = patches + (offset / shape.stride * across + i) * patch + ky * shape.kernel * shape.in;
        for (int64_t kx = 0; kx < shape.kernel; ++kx, from += shape.in) {
          const int64_t x = i * shape.stride - shape.padding + kx;
          if (x < 0 || x >= shape.width) continue;
          float* to = row + x * shape.in;
          for (int64_t c = 0; c < shape.in; ++c) to[c] += from[c];
        }
      }
    }
  });
}

Gemm product(int64_t rows, int64_t columns, const GemmTerm& term, float* c) {
  Gemm gemm{.rows = rows, .columns = columns, .c = c, .c_row = columns};
  gemm.terms[0] = term;
  return gemm;
}

// Whether the gradient is best taken as a convolution of its own with a turned copy of the weights: where few output
// channels make the patches of the result small and the weights few.
bool is_turned(const ConvShape& shape) {
  constexpr int64_t kFewWeights = int64_t{1} << 18;
  return shape.stride == 1 && shape.kernel == 2 * shape.padding + 1 && shape.out < shape.in &&
         shape.in * shape.out * shape.kernel * shape.kernel <= kFewWeights;
}

// [out, k, k, in] -> [in, k, k, out], kernels turned round.
std::vector<float> turned_weights(const ConvShape& shape, const float* weights) {
  const int64_t taps = shape.kernel * shape.kernel;
  std::vector<float> turned(static_cast<size_t>(shape.in * taps * shape.out));
  for (int64_t o = 0; o < shape.out; ++o) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t c = 0; c < shape.in; ++c) {
        turned[static_cast<size_t>((c * taps + taps - 1 - t) * shape.out + o)] = weights[(o * taps + t) * shape.in + c];
      }
    }
  }
  return turned;
}

}  // namespace

void convolve(const CpuKernels& kernels, const ConvShape& shape, const float* x, const float* weights,
              const ConvSum& sum, float* y) {
  if (shape.is_winograd()) {
    return run_winograd(kernels, {.batch = shape.batch,
                                  .height = shape.height,
                                  .width = shape.width,
                                  .in = shape.in,
                                  .out = shape.out,
                                  .x = x,
                                  .weights = weights,
                                  .bias = sum.bias,
                                  .bias_batch = sum.bias_batch,
                                  .add = sum.add,
                                  .y = y});
  }
  const int64_t patch = shape.kernel * shape.kernel * shape.in;
  const int64_t across = shape.out_width();
  const int64_t rows = shape.batch * shape.out_height();
  const int64_t most = shape.is_pointwise() ? rows : std::max<int64_t>(1, kMostFloats / (across * patch));
  const int64_t chunks = divided_up(rows, most);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t first = rows * chunk / chunks;
    const int64_t count = rows * (chunk + 1) / chunks - first;
    const float* patches = x;
    if (!shape.is_pointwise()) {
      float* gathered = tensor::thread_scratch(tensor::Scratch::Shared, count * across * patch);
      gather_patches(shape, x, first, count, gathered);
      patches = gathered;
    }
    Gemm gemm = product(count * across, shape.out,
                        {.a = patches, .a_row = patch, .b = weights, .b_depth = 1, .b_column = patch, .depth = patch},
                        y + first * across * shape.out);
    gemm.bias = sum.bias;
    gemm.add = sum.add == nullptr ? nullptr : sum.add + first * across * shape.out;
    gemm.add_row = shape.out;
    multiply(kernels, gemm);
  }
}

void convolve_back(const CpuKernels& kernels, const ConvShape& shape, const float* gradient, const float* weights,
                   float* x_gradient) {
  if (shape.is_winograd()) {
    return run_winograd(kernels, {.batch = shape.batch,
                                  .height = shape.height,
                                  .width = shape.width,
                                  .in = shape.out,
                                  .out = shape.in,
                                  .x = gradient,
                                  .weights = weights,
                                  .is_mirrored = true,
                                  .y = x_gradient});
  }
  if (!shape.is_pointwise() && is_turned(shape)) {
    ConvShape turned = shape;
    std::swap(turned.in, turned.out);
    const std::vector<float> own = turned_weights(shape, weights);
    return convolve(kernels, turned, gradient, own.data(), {}, x_gradient);
  }
  const int64_t patch = shape.kernel * shape.kernel * shape.in;
  const int64_t positions = shape.out_height() * shape.out_width();
  const GemmTerm term{.a = gradient, .a_row = shape.out, .b = weights, .b_depth = patch, .depth = shape.out};
  if (shape.is_pointwise()) return multiply(kernels, product(shape.batch * positions, patch, term, x_gradient));
  float* patches = tensor::thread_scratch(tensor::Scratch::Shared, positions * patch);
  for (int64_t sample = 0; sample < shape.batch; ++sample) {
    GemmTerm own = term;
    own.a += sample * positions * shape.out;
    multiply(kernels, product(positions, patch, own, patches));
    scatter_patches(shape, patches, x_gradient + sample * shape.height * shape.width * shape.in);
  }
}

}  // namespace cinnabar::nn
