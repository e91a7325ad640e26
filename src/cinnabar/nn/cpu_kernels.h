// Inner loops of the fused layers on the CPU, compiled for AVX-512 and for AVX2 and chosen when the program starts.
// Free of libtorch: callers share the work out among threads (cpu_gemm.h, cpu_convolution.h, cpu_normalization.h).
// Each element is summed in an order that depends on shapes alone, with fused multiply-add: results do not depend on
// the number of threads or on the version.
#pragma once

#include <cstdint>

namespace cinnabar::nn {

// One matrix product that is added to a result. Strides in floats; one stride of each matrix is 1.
struct GemmTerm {
  const float* a = nullptr;  // [rows, depth]
  int64_t a_row = 0;
  int64_t a_depth = 1;
  const float* b = nullptr;  // [depth, columns]
  int64_t b_depth = 0;
  int64_t b_column = 1;
  int64_t depth = 0;
};

// c = bias + add + sum of the terms.
struct Gemm {
  int64_t rows = 0;
  int64_t columns = 0;
  GemmTerm terms[2];
  int term_count = 1;
  float* c = nullptr;  // [rows, columns], rows `c_row` apart
  int64_t c_row = 0;
  const float* bias = nullptr;  // [columns], or null
  const float* add = nullptr;   // [rows, columns], rows `add_row` apart, or null; may be c
  int64_t add_row = 0;
};

// Rows [row_begin, row_end) and columns [column_begin, column_end) of a Gemm.
struct GemmBlock {
  int64_t row_begin = 0;
  int64_t row_end = 0;
  int64_t column_begin = 0;
  int64_t column_end = 0;
};

// 3x3 convolution, stride 1, padding 1, by Winograd's F(2x2, 3x3): 16 products instead of 36 for 4 results. Tiles are
// 2x2 results; there are batch * tiles_y * tiles_x, row by row. Channels are multiples of 16.
struct Winograd {
  int64_t batch = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t in = 0;
  int64_t out = 0;
  const float* x = nullptr;        // [batch, height, width, in]
  const float* weights = nullptr;  // [out, 3, 3, in]; when mirrored [in, 3, 3, out]
  bool is_mirrored = false;        // the gradient by the input: kernels turned round, in and out exchanged
  const float* bias = nullptr;     // [out], or null
  int64_t bias_batch = 0;          // distance of the biases of two samples, 0: all have the same
  const float* add = nullptr;      // like y, or null
  float* y = nullptr;              // [batch, height, width, out]
  float* tiles = nullptr;          // [16, tile_count, tile_row]: transformed inputs of a chunk of tiles
  int64_t tile_row = 0;
  int64_t tile_first = 0;  // of the chunk
  int64_t tile_count = 0;
};

// Group normalisation and SiLU of [batch, positions, channels], in chunks of positions.
struct GroupNormChunk {
  const float* x = nullptr;         // [positions, channels] of the chunk
  const float* gradient = nullptr;  // of the result; backward only
  float* y = nullptr;               // result, or gradient of x
  int64_t positions = 0;
  int64_t channels = 0;
  const float* scale = nullptr;  // [channels]: u = scale * x + shift is the normalised input, weight and bias included
  const float* shift = nullptr;
  bool has_silu = false;
};

// softmax(q k' scale) v of each head. Rows of q, k, v and of all results lie heads * width apart; a head's numbers are
// `width` neighbours in a row.
struct Attention {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t width = 0;  // of one head
  float scale = 1.0F;
  const float* q = nullptr;  // [batch, queries, heads * width]
  const float* k = nullptr;  // [batch, keys, heads * width]
  const float* v = nullptr;
  float* result = nullptr;          // like q; backward: what forward gave
  float* logarithms = nullptr;      // [batch, heads, queries]: of the sums of exponentials; backward: what forward gave
  const float* gradient = nullptr;  // of the result; backward only, as are the following
  float* q_gradient = nullptr;
  float* k_gradient = nullptr;
  float* v_gradient = nullptr;
};

// How much scratch memory a thread needs, in floats.
struct ScratchSize {
  int64_t gemm = 0;
  int64_t winograd = 0;
};

struct CpuKernels {
  const char* name;
  int64_t panel;  // columns that are worked on at once: column ranges of blocks start at multiples of it
  ScratchSize scratch;
  void (*gemm_block)(const Gemm& gemm, const GemmBlock& block, float* scratch);
  int64_t winograd_tiles;  // most tiles that one call of winograd_block takes
  // Transforms the inputs of tiles [begin, end), counted within the chunk.
  void (*winograd_input)(const Winograd& task, int64_t begin, int64_t end);
  // Results of tiles [begin, end) of the chunk for the output channels from `channel` on, one panel of them.
  void (*winograd_block)(const Winograd& task, int64_t begin, int64_t end, int64_t channel, float* scratch);

  // Per channel: mean over the chunk's positions, and sum of squared distances from it.
  void (*group_norm_moments)(const GroupNormChunk& chunk, float* means, float* squares);
  void (*group_norm_apply)(const GroupNormChunk& chunk);
  // Writes the gradient of u into y; per channel: its sum, and the sum of its product with x.
  void (*group_norm_sums)(const GroupNormChunk& chunk, const float* centers, float* sums, float* products);
  // y = by_gradient * y + by_x * x + constant, each [channels].
  void (*group_norm_combine)(const GroupNormChunk& chunk, const float* by_gradient, const float* by_x,
                             const float* constant);

  // rows of x [rows, 2 width]: y [rows, width] = first half * gelu(second half).
  void (*gated_forward)(const float* x, float* y, int64_t rows, int64_t width);
  void (*gated_backward)(const float* x, const float* gradient, float* x_gradient, int64_t rows, int64_t width);

  int64_t attention_rows;                               // queries that are worked on at once
  int64_t (*attention_packed)(const Attention& task);   // floats of one head's keys and values, packed
  int64_t (*attention_scratch)(const Attention& task);  // floats for one call of forward
  int64_t (*attention_back_scratch)(const Attention& task);
  // `head` counts heads of all samples.
  void (*attention_pack)(const Attention& task, int64_t head, float* packed);
  // Queries [begin, end), at most attention_rows.
  void (*attention_forward)(const Attention& task, int64_t head, int64_t begin, int64_t end, const float* packed,
                            float* scratch);
  void (*attention_backward)(const Attention& task, int64_t head, float* scratch);
};

// Null when this processor has neither AVX-512 nor AVX2 with FMA, or CINNABAR_CPU_KERNELS=none says so; "avx2" and
// "avx512" choose one.
const CpuKernels* cpu_kernels();

// Of one version; null where it was not compiled. The processor must be able to run it.
const CpuKernels* avx512_kernels();
const CpuKernels* avx2_kernels();

}  // namespace cinnabar::nn
