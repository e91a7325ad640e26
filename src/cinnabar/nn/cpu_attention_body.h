// Attention in blocks, so that scores stay in the cache (Dao et al. 2022, "FlashAttention"). No include guard and no
// namespace: part of cpu_kernels_avx512.cpp and cpu_kernels_avx2.cpp, which define Vec.

constexpr int64_t kQueryRows = 4 * kRows > 48 ? 56 : 48;  // of a block
constexpr int64_t kKeyColumns = 512;
constexpr int64_t kScoreRow = kKeyColumns + 16;  // distance of two rows of scores

inline int64_t padded(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

// c [rows, columns] = start + a b; columns are a multiple of kWidth. b_at(j) is where the panel of column j lies.
template <class PanelAt>
inline void multiply_rows(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t a_stride,
                          bool is_column, const PanelAt& b_at, int64_t b_stride, float* c, int64_t c_row,
                          bool accumulates) {
  for_row_pieces(0, rows, [&](int64_t row, int64_t count) {
    for (int64_t j = 0; j < columns; j += kPanel) {
      float* to = c + row * c_row + j;
      tile_for(count, columns - j > kWidth ? 2 : 1, is_column)(depth, a + row * (is_column ? 1 : a_stride), a_stride,
                                                               b_at(j), b_stride, accumulates ? to : kZeros,
                                                               accumulates ? c_row : 0, to, c_row);
    }
  });
}

// Rows [first, first + rows) of one head of x as [rows, padded width], times `factor`.
inline void copy_rows(const float* x, int64_t row_step, int64_t rows, int64_t width, float factor, float* to) {
  const int64_t row = padded(width, kWidth);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = 0; c < width; c += kWidth) {
      store(to + i * row + c, mul(all(factor), load_some(x + i * row_step + c, width - c)));
    }
  }
}

// The same numbers as panels [width][kPanel] of the transposed matrix, zero beyond the end.
inline void pack_transposed(const float* x, int64_t row_step, int64_t rows, int64_t width, float factor, float* to) {
  for (int64_t first = 0; first < rows; first += kPanel, to += width * kPanel) {
    const float* from = x + first * row_step;
    int64_t done = 0;
    if (rows - first >= kPanel) {
      for (; done + kWidth <= width; done += kWidth) {
        transpose_block(from + done, row_step, to + done * kPanel, kPanel);
        transpose_block(from + done + kWidth * row_step, row_step, to + done * kPanel + kWidth, kPanel);
      }
      for (int64_t i = 0; i < done * kPanel; i += kWidth) store(to + i, mul(all(factor), load(to + i)));
    }
    for (; done < width; ++done) {
      for (int64_t j = 0; j < kPanel; ++j) {
        to[done * kPanel + j] = first + j < rows ? factor * from[j * row_step + done] : 0.0F;
      }
    }
  }
}

// Where a head's rows begin.
inline int64_t head_offset(const Attention& task, int64_t head, int64_t rows) {
  return head / task.heads * rows * task.heads * task.width + head % task.heads * task.width;
}

int64_t attention_packed(const Attention& task) {
  return padded(task.keys, kPanel) * task.width + task.keys * padded(task.width, kWidth);
}

// Keys as panels of the transposed matrix with the scale in them, then values in rows.
void attention_pack(const Attention& task, int64_t head, float* packed) {
  const int64_t step = task.heads * task.width;
  const int64_t offset = head_offset(task, head, task.keys);
  pack_transposed(task.k + offset, step, task.keys, task.width, task.scale, packed);
  copy_rows(task.v + offset, step, task.keys, task.width, 1.0F, packed + padded(task.keys, kPanel) * task.width);
}

int64_t attention_scratch(const Attention& task) { return kQueryRows * (kScoreRow + padded(task.width, kWidth)); }

// 32 sums or maxima whatever the width of the registers, so that both versions add in the same order.
constexpr int kLanes = 32;
constexpr int kSums = kLanes / kWidth;

inline float folded_sum(const Vec (&sums)[kSums]) {
  alignas(64) float values[kLanes];
  for (int v = 0; v < kSums; ++v) store(values + v * kWidth, sums[v]);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) values[i] += values[i + half];
  }
  return values[0];
}

// Scores of a row become e^(score - most), and what is beyond `count` becomes 0, up to a multiple of kLanes. Returns
// their sum.
inline float exponentials(float* row, int64_t count, float most) {
  const Vec offset = all(most);
  Vec sums[kSums];
  for (int v = 0; v < kSums; ++v) sums[v] = zero();
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (int v = 0; v < kSums; ++v) {
      const Vec value = exponential(sub(load(row + j + v * kWidth), offset));
      store(row + j + v * kWidth, value);
      sums[v] = add(sums[v], value);
    }
  }
  if (j < count) {
    for (int64_t i = count; i < j + kLanes; ++i) row[i] = most;
    for (int v = 0; v < kSums; ++v) store(row + j + v * kWidth, exponential(sub(load(row + j + v * kWidth), offset)));
    for (int64_t i = count; i < j + kLanes; ++i) row[i] = 0.0F;
    for (int v = 0; v < kSums; ++v) sums[v] = add(sums[v], load(row + j + v * kWidth));
  }
  return folded_sum(sums);
}

inline float most_of_row(const float* row, int64_t count) {
  Vec most[2] = {all(row[0]), all(row[0])};
  int64_t j = 0;
  for (; j + 2 * kWidth <= count; j += 2 * kWidth) {
    most[0] = largest(load(row + j), most[0]);
    most[1] = largest(load(row + j + kWidth), most[1]);
  }
  alignas(64) float values[kWidth];
  store(values, largest(most[0], most[1]));
  float result = values[0];
  for (int i = 1; i < kWidth; ++i) result = values[i] > result ? values[i] : result;
  for (; j < count; ++j) result = row[j] > result ? row[j] : result;
  return result;
}

void attention_forward(const Attention& task, int64_t head, int64_t begin, int64_t end, const float* packed,
                       float* scratch) {
  const int64_t step = task.heads * task.width;
  const int64_t row_width = padded(task.width, kWidth);
  const int64_t rows = end - begin;
  const float* q = task.q + head_offset(task, head, task.queries) + begin * step;
  const float* values = packed + padded(task.keys, kPanel) * task.width;
  float* const scores = scratch;
  float* const mixed = scratch + kQueryRows * kScoreRow;  // [rows, row_width]
  float most[kQueryRows];
  float sums[kQueryRows];
  for (int64_t first = 0; first < task.keys; first += kKeyColumns) {
    const int64_t keys = task.keys - first < kKeyColumns ? task.keys - first : kKeyColumns;
    multiply_rows(
        rows, padded(keys, kWidth), task.width, q, step, false,
        [&](int64_t j) { return packed + (first + j) * task.width; }, kPanel, scores, kScoreRow, false);
    for (int64_t i = 0; i < rows; ++i) {
      float* row = scores + i * kScoreRow;
      const float here = most_of_row(row, keys);
      const float before = first == 0 ? here : most[i];
      most[i] = here > before || here != here ? here : before;
      const float sum = exponentials(row, keys, most[i]);
      if (first == 0) {
        sums[i] = sum;
        continue;
      }
      alignas(64) float shrunk[kWidth];
      store(shrunk, exponential(all(before - most[i])));
      sums[i] = sums[i] * shrunk[0] + sum;
      const Vec factor = all(shrunk[0]);
      for (int64_t c = 0; c < row_width; c += kWidth) {
        store(mixed + i * row_width + c, mul(factor, load(mixed + i * row_width + c)));
      }
    }
    multiply_rows(
        rows, row_width, keys, scores, kScoreRow, false, [&](int64_t j) { return values + first * row_width + j; },
        row_width, mixed, row_width, first != 0);
  }
  float* result = task.result + head_offset(task, head, task.queries) + begin * step;
  for (int64_t i = 0; i < rows; ++i) {
    const Vec factor = all(1.0F / sums[i]);
    for (int64_t c = 0; c < task.width; c += kWidth) {
      store_some(result + i * step + c, mul(factor, load(mixed + i * row_width + c)), task.width - c);
    }
    task.logarithms[head * task.queries + begin + i] = most[i] + __builtin_logf(sums[i]);
  }
}

int64_t attention_back_scratch(const Attention& task) {
  const int64_t row_width = padded(task.width, kWidth);
  return 2 * kQueryRows * kScoreRow + 2 * padded(task.keys, kPanel) * task.width + 3 * task.keys * row_width +
         3 * kQueryRows * row_width;
}

// Everything of one head that lasts over its blocks, and what lives for one block.
struct BackBuffers {
  float* scores;         // probabilities [kQueryRows, kScoreRow]
  float* slopes;         // their gradients, then those of the scores
  float* keys_across;    // panels of the scaled, transposed keys
  float* values_across;  // of the transposed values
  float* keys;           // [keys, row_width], scaled
  float* k_gradient;     // [keys, row_width]
  float* v_gradient;
  float* queries;   // [rows, row_width]
  float* gradient;  // of the result
  float* q_gradient;
};

inline BackBuffers buffers_in(const Attention& task, float* scratch) {
  const int64_t row_width = padded(task.width, kWidth);
  const auto take = [&](int64_t count) {
    float* const own = scratch;
    scratch += count;
    return own;
  };
  BackBuffers b{};
  b.scores = take(kQueryRows * kScoreRow);
  b.slopes = take(kQueryRows * kScoreRow);
  b.keys_across = take(padded(task.keys, kPanel) * task.width);
  b.values_across = take(padded(task.keys, kPanel) * task.width);
  b.keys = take(task.keys * row_width);
  b.k_gradient = take(task.keys * row_width);
  b.v_gradient = take(task.keys * row_width);
  b.queries = take(kQueryRows * row_width);
  b.gradient = take(kQueryRows * row_width);
  b.q_gradient = take(kQueryRows * row_width);
  return b;
}

// Probabilities and the gradients of the scores of one block, from scores and gradients of probabilities.
inline void slopes_of_block(const BackBuffers& b, int64_t rows, int64_t keys, const float* logarithms,
                            const float* products) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = b.scores + i * kScoreRow;
    float* slope = b.slopes + i * kScoreRow;
    exponentials(row, keys, logarithms[i]);
    const Vec product = all(products[i]);
    for (int64_t j = 0; j < keys; j += kWidth) store(slope + j, mul(load(row + j), sub(load(slope + j), product)));
  }
}

// One block of queries against all keys.
inline void back_block(const Attention& task, int64_t head, int64_t begin, int64_t rows, const BackBuffers& b) {
  const int64_t step = task.heads * task.width;
  const int64_t row_width = padded(task.width, kWidth);
  const int64_t offset = head_offset(task, head, task.queries) + begin * step;
  copy_rows(task.q + offset, step, rows, task.width, 1.0F, b.queries);
  copy_rows(task.gradient + offset, step, rows, task.width, 1.0F, b.gradient);
  float products[kQueryRows];  // of each row of the result with its gradient
  for (int64_t i = 0; i < rows; ++i) {
    alignas(64) float both[8] = {};
    const float* result = task.result + offset + i * step;
    for (int64_t c = 0; c < task.width; ++c) both[c % 8] += result[c] * b.gradient[i * row_width + c];
    products[i] = ((both[0] + both[1]) + (both[2] + both[3])) + ((both[4] + both[5]) + (both[6] + both[7]));
  }
  for (int64_t first = 0; first < task.keys; first += kKeyColumns) {
    const int64_t keys = task.keys - first < kKeyColumns ? task.keys - first : kKeyColumns;
    const auto scores_by = [&](const float* rows_of, const float* across, float* to) {
      multiply_rows(
          rows, padded(keys, kWidth), task.width, rows_of, row_width, false,
          [&](int64_t j) { return across + (first + j) * task.width; }, kPanel, to, kScoreRow, false);
    };
    scores_by(b.queries, b.keys_across, b.scores);
    scores_by(b.gradient, b.values_across, b.slopes);
    slopes_of_block(b, rows, keys, task.logarithms + head * task.queries + begin, products);
    const bool is_more = begin != 0;
    multiply_rows(
        keys, row_width, rows, b.scores, kScoreRow, true, [&](int64_t j) { return b.gradient + j; }, row_width,
        b.v_gradient + first * row_width, row_width, is_more);
    multiply_rows(
        keys, row_width, rows, b.slopes, kScoreRow, true, [&](int64_t j) { return b.queries + j; }, row_width,
        b.k_gradient + first * row_width, row_width, is_more);
    multiply_rows(
        rows, row_width, keys, b.slopes, kScoreRow, false, [&](int64_t j) { return b.keys + first * row_width + j; },
        row_width, b.q_gradient, row_width, first != 0);
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = 0; c < task.width; c += kWidth) {
      store_some(task.q_gradient + offset + i * step + c, load(b.q_gradient + i * row_width + c), task.width - c);
    }
  }
}

void attention_backward(const Attention& task, int64_t head, float* scratch) {
  const int64_t step = task.heads * task.width;
  const int64_t row_width = padded(task.width, kWidth);
  const int64_t offset = head_offset(task, head, task.keys);
  const BackBuffers b = buffers_in(task, scratch);
  pack_transposed(task.k + offset, step, task.keys, task.width, task.scale, b.keys_across);
  pack_transposed(task.v + offset, step, task.keys, task.width, 1.0F, b.values_across);
  copy_rows(task.k + offset, step, task.keys, task.width, task.scale, b.keys);
  for (int64_t begin = 0; begin < task.queries; begin += kQueryRows) {
    const int64_t rows = task.queries - begin < kQueryRows ? task.queries - begin : kQueryRows;
    back_block(task, head, begin, rows, b);
  }
  const Vec scale = all(task.scale);
  for (int64_t i = 0; i < task.keys; ++i) {
    for (int64_t c = 0; c < task.width; c += kWidth) {
      const int64_t at = i * row_width + c;
      store_some(task.k_gradient + offset + i * step + c, mul(scale, load(b.k_gradient + at)), task.width - c);
      store_some(task.v_gradient + offset + i * step + c, load(b.v_gradient + at), task.width - c);
    }
  }
}

#define CINNABAR_CPU_KERNEL_TABLE                                                 \
  {.name = kName,                                                                 \
   .panel = kPanel,                                                               \
   .scratch = {.gemm = (kDepth + 2 * kDepthSlack) * kBlockColumns,                \
               .winograd = kPlanes * kPanel * (kWinogradDepth + kWinogradTiles)}, \
   .gemm_block = gemm_block,                                                      \
   .winograd_tiles = kWinogradTiles,                                              \
   .winograd_input = winograd_input,                                              \
   .winograd_block = winograd_block,                                              \
   .group_norm_moments = group_norm_moments,                                      \
   .group_norm_apply = group_norm_apply,                                          \
   .group_norm_sums = group_norm_sums,                                            \
   .group_norm_combine = group_norm_combine,                                      \
   .gated_forward = gated_forward,                                                \
   .gated_backward = gated_backward,                                              \
   .attention_rows = kQueryRows,                                                  \
   .attention_packed = attention_packed,                                          \
   .attention_scratch = attention_scratch,                                        \
   .attention_back_scratch = attention_back_scratch,                              \
   .attention_pack = attention_pack,                                              \
   .attention_forward = attention_forward,                                        \
   .attention_backward = attention_backward}
