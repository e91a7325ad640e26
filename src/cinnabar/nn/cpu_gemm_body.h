// Matrix product: blocks of b are packed into panels that stay in the second-level cache, rows of a are read where they
// lie. No include guard and no namespace: part of cpu_kernels_avx512.cpp and cpu_kernels_avx2.cpp, which define Vec.

constexpr int kPanel = 2 * kWidth;
constexpr int64_t kDepth = 256;         // of a packed block
constexpr int64_t kBlockColumns = 192;  // at most, of a packed block

// c [kTileRows, kVectors * kWidth] = start + a b. Rows of a `a_stride` apart; with kIsColumn its columns are.
template <int kTileRows, int kVectors, bool kIsColumn>
void add_tile(int64_t depth, const float* a, int64_t a_stride, const float* b, int64_t b_stride, const float* start,
              int64_t start_stride, float* c, int64_t c_stride) {
  Vec sum[kTileRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[i][v] = load(start + i * start_stride + v * kWidth);
  }
  for (int64_t k = 0; k < depth; ++k) {
    Vec column[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) column[v] = load(b + v * kWidth);
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
      const Vec factor = all(kIsColumn ? a[i] : a[i * a_stride]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[i][v] = fma(factor, column[v], sum[i][v]);
    }
    b += b_stride;
    a += kIsColumn ? a_stride : 1;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) store(c + i * c_stride + v * kWidth, sum[i][v]);
  }
}

using TileFunction = void (*)(int64_t, const float*, int64_t, const float*, int64_t, const float*, int64_t, float*,
                              int64_t);
alignas(64) constexpr float kZeros[kPanel] = {};

template <int kVectors, bool kIsColumn>
TileFunction tile_function(int64_t rows) {
  switch (rows) {
    case 1:
      return add_tile<1, kVectors, kIsColumn>;
    case 2:
      return add_tile<2, kVectors, kIsColumn>;
    case 3:
      return add_tile<3, kVectors, kIsColumn>;
    case 4:
      return add_tile<4, kVectors, kIsColumn>;
    case 5:
      return add_tile<5, kVectors, kIsColumn>;
    case 6:
      return add_tile<6, kVectors, kIsColumn>;
    default:
      break;
  }
  if constexpr (kRows > 6) {
    switch (rows) {
      case 7:
        return add_tile<7, kVectors, kIsColumn>;
      case 8:
        return add_tile<8, kVectors, kIsColumn>;
      case 9:
        return add_tile<9, kVectors, kIsColumn>;
      case 10:
        return add_tile<10, kVectors, kIsColumn>;
      case 11:
        return add_tile<11, kVectors, kIsColumn>;
      case 12:
        return add_tile<12, kVectors, kIsColumn>;
      case 13:
        return add_tile<13, kVectors, kIsColumn>;
      default:
        break;
    }
  }
  return add_tile<kRows, kVectors, kIsColumn>;
}

inline TileFunction tile_for(int64_t rows, int vectors, bool is_column) {
  if (vectors == 1) return is_column ? tile_function<1, true>(rows) : tile_function<1, false>(rows);
  return is_column ? tile_function<2, true>(rows) : tile_function<2, false>(rows);
}

// Rows in pieces of nearly equal size, none over kRows: calls work(begin, count).
template <class Work>
inline void for_row_pieces(int64_t begin, int64_t end, const Work& work) {
  const int64_t rows = end - begin;
  const int64_t pieces = (rows + kRows - 1) / kRows;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t first = begin + rows * piece / pieces;
    work(first, begin + rows * (piece + 1) / pieces - first);
  }
}

// Depth [k, k + count) and columns [n, n + columns) of b as panels [count][kPanel] one after the other; columns beyond
// the end are zero.
inline void pack_block(const GemmTerm& term, int64_t k, int64_t count, int64_t n, int64_t columns, float* to) {
  for (int64_t first = 0; first < columns; first += kPanel, to += count * kPanel) {
    const float* from = term.b + k * term.b_depth + (n + first) * term.b_column;
    const int64_t width = columns - first < kPanel ? columns - first : kPanel;
    int64_t done = 0;
    if (width == kPanel && term.b_column == 1) {
      for (; done < count; ++done) {
        store(to + done * kPanel, load(from + done * term.b_depth));
        store(to + done * kPanel + kWidth, load(from + done * term.b_depth + kWidth));
      }
    } else if (width == kPanel && term.b_depth == 1) {
      for (; done + kWidth <= count; done += kWidth) {
        transpose_block(from + done, term.b_column, to + done * kPanel, kPanel);
        transpose_block(from + done + kWidth * term.b_column, term.b_column, to + done * kPanel + kWidth, kPanel);
      }
    }
    for (; done < count; ++done) {
      for (int64_t j = 0; j < kPanel; ++j) {
        to[done * kPanel + j] = j < width ? from[done * term.b_depth + j * term.b_column] : 0.0F;
      }
    }
  }
}

// What the result starts from.
inline void start_rows(const Gemm& gemm, int64_t row, int64_t rows, int64_t n, int64_t columns) {
  for (int64_t i = row; i < row + rows; ++i) {
    float* c = gemm.c + i * gemm.c_row + n;
    const float* more = gemm.add == nullptr ? nullptr : gemm.add + i * gemm.add_row + n;
    const float* bias = gemm.bias == nullptr ? nullptr : gemm.bias + n;
    int64_t j = 0;
    for (; j + kWidth <= columns; j += kWidth) {
      Vec value = bias == nullptr ? zero() : load(bias + j);
      if (more != nullptr) value = add(value, load(more + j));
      store(c + j, value);
    }
    for (; j < columns; ++j) c[j] = (bias == nullptr ? 0.0F : bias[j]) + (more == nullptr ? 0.0F : more[j]);
  }
}

// One row piece times one panel, of which `width` columns are wanted.
inline void multiply_panel(const GemmTerm& term, int64_t k, int64_t count, int64_t row, int64_t rows, const float* b,
                           int64_t b_stride, float* c, int64_t c_row, int64_t width) {
  const bool is_column = term.a_row == 1 && term.a_depth != 1;
  const float* a = term.a + row * term.a_row + k * term.a_depth;
  const int64_t a_stride = is_column ? term.a_depth : term.a_row;
  const int vectors = width > kWidth ? 2 : 1;
  const TileFunction tile = tile_for(rows, vectors, is_column);
  if (width == kPanel || width == kWidth) {
    tile(count, a, a_stride, b, b_stride, c, c_row, c, c_row);
    return;
  }
  alignas(64) float rest[kRows * kPanel];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) rest[i * kPanel + j] = j < width ? c[i * c_row + j] : 0.0F;
  }
  tile(count, a, a_stride, b, b_stride, rest, kPanel, rest, kPanel);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) c[i * c_row + j] = rest[i * kPanel + j];
  }
}

void gemm_block(const Gemm& gemm, const GemmBlock& block, float* scratch) {
  for (int64_t n = block.column_begin; n < block.column_end; n += kBlockColumns) {
    const int64_t columns = block.column_end - n < kBlockColumns ? block.column_end - n : kBlockColumns;
    bool is_first = true;
    for (int t = 0; t < gemm.term_count; ++t) {
      const GemmTerm& term = gemm.terms[t];
      // Few rows read b once or twice: not worth a copy.
      const bool is_direct =
          term.b_column == 1 && block.row_end - block.row_begin <= 2 * kRows && columns % kWidth == 0;
      for (int64_t k = 0; k < term.depth; k += kDepth) {
        const int64_t count = term.depth - k < kDepth ? term.depth - k : kDepth;
        if (!is_direct) pack_block(term, k, count, n, columns, scratch);
        for_row_pieces(block.row_begin, block.row_end, [&](int64_t row, int64_t rows) {
          if (is_first) start_rows(gemm, row, rows, n, columns);
          for (int64_t j = 0; j < columns; j += kPanel) {
            const int64_t width = columns - j < kPanel ? columns - j : kPanel;
            const float* b = is_direct ? term.b + k * term.b_depth + n + j : scratch + j * count;
            multiply_panel(term, k, count, row, rows, b, is_direct ? term.b_depth : kPanel,
                           gemm.c + row * gemm.c_row + n + j, gemm.c_row, width);
          }
        });
        is_first = false;
      }
    }
  }
}
