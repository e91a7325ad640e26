#include "cinnabar/nn/cpu_gemm.h"

#include <algorithm>

#include <ATen/Parallel.h>

#include "cinnabar/tensor/parallel.h"

namespace cinnabar::nn {

namespace {

// A grid of blocks that keeps all threads busy. Columns are divided first: each piece of b is packed once then.
struct Grid {
  int64_t panels = 0;  // of a block
  int64_t column_blocks = 0;
  int64_t row_blocks = 1;
};

Grid grid_for(const Gemm& gemm, int64_t panel) {
  constexpr int64_t kMostPanels = 5;
  constexpr int64_t kFewestRows = 32;
  const int64_t threads = at::get_num_threads();
  const int64_t panels = divided_up(gemm.columns, panel);
  const int64_t share = divided_up(panels, threads);
  Grid grid;
  grid.panels = divided_up(share, divided_up(share, kMostPanels));
  grid.column_blocks = divided_up(panels, grid.panels);
  const int64_t missing = grid.column_blocks % threads;
  if (missing == 0 || grid.column_blocks > 4 * threads) return grid;
  const int64_t wanted = grid.column_blocks < threads ? divided_up(2 * threads, grid.column_blocks) : 2;
  grid.row_blocks = std::max<int64_t>(1, std::min(wanted, gemm.rows / kFewestRows));
  return grid;
}

}  // namespace

void multiply(const CpuKernels& kernels, const Gemm& gemm) {
  if (gemm.rows == 0 || gemm.columns == 0) return;
  const Grid grid = grid_for(gemm, kernels.panel);
  const int64_t width = grid.panels * kernels.panel;
  tensor::for_units(grid.column_blocks * grid.row_blocks, [&](int64_t unit) {
    const int64_t row = unit % grid.row_blocks;
    const int64_t column = unit / grid.row_blocks;
    const GemmBlock block{.row_begin = gemm.rows * row / grid.row_blocks,
                          .row_end = gemm.rows * (row + 1) / grid.row_blocks,
                          .column_begin = column * width,
                          .column_end = std::min(gemm.columns, (column + 1) * width)};
    kernels.gemm_block(gemm, block, tensor::thread_scratch(tensor::Scratch::Kernel, kernels.scratch.gemm));
  });
}

}  // namespace cinnabar::nn
