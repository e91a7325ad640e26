// Matrix product: blocks of b are packed into panels that stay in the second-level cache, rows of a are read where they
// lie. No include guard and no namespace: part of cpu_kernels_avx512.cpp and cpu_kernels_avx2.cpp, which define Vec.

constexpr int kPanel = 2 * kWidth;
constexpr int64_t kDepth = 384;         // of a packed block, about
constexpr int64_t kDepthSlack = 16;     // over it
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

// A part of one term's depth.
struct DepthPiece {
  const GemmTerm* term;
  int64_t begin, count;
  bool is_direct;  // b is read where it lies
};

// The depths of all terms one after the other in pieces of about equal size; those that are packed together form a
// group.
struct DepthGroups {
  const Gemm& gemm;
  int64_t limit;
  int term = 0;
  int64_t at = 0;
  DepthPiece pieces[3];
  int count = 0;

  explicit DepthGroups(const Gemm& given) : gemm(given), limit(0) {
    int64_t depth = 0;
    for (int t = 0; t < gemm.term_count; ++t) depth += gemm.terms[t].depth;
    const int64_t groups = (depth + kDepth - 1) / kDepth;
    limit = groups == 0 ? 0 : (depth + groups - 1) / groups;
    limit = (limit + kDepthSlack - 1) / kDepthSlack * kDepthSlack;
  }

  // Few rows read b once or twice: not worth a copy.
  bool next(bool has_few_rows) {
    count = 0;
    for (int64_t left = limit; left > 0 && term < gemm.term_count && count < 3;) {
      const GemmTerm& from = gemm.terms[term];
      const int64_t own = from.depth - at < left ? from.depth - at : left;
      pieces[count++] = {&from, at, own, has_few_rows && from.b_column == 1};
      left -= own;
      at += own;
      if (at == from.depth) {
        at = 0;
        ++term;
      }
    }
    return count > 0;
  }
};

// bias + add.
inline void start_rows(const Gemm& gemm, int64_t row, int64_t rows, int64_t n, int64_t columns) {
  for (int64_t i = row; i < row + rows; ++i) {
    float* c = gemm.c + i * gemm.c_row + n;
    const float* more = gemm.add + i * gemm.add_row + n;
    const float* bias = gemm.bias + n;
    int64_t j = 0;
    for (; j + kWidth <= columns; j += kWidth) store(c + j, add(load(bias + j), load(more + j)));
    for (; j < columns; ++j) c[j] = bias[j] + more[j];
  }
}

// A place in memory, and the distance of its rows.
struct Rows {
  const float* data;
  int64_t step;
};

// c = start + the product of one row piece and one panel, of which `width` columns are wanted.
inline void multiply_panel(const DepthPiece& piece, int64_t row, int64_t rows, Rows b, Rows start, float* c,
                           int64_t c_row, int64_t width) {
  const GemmTerm& term = *piece.term;
  const bool is_column = term.a_row == 1 && term.a_depth != 1;
  const float* a = term.a + row * term.a_row + piece.begin * term.a_depth;
  const int64_t a_stride = is_column ? term.a_depth : term.a_row;
  const TileFunction tile = tile_for(rows, width > kWidth ? 2 : 1, is_column);
  if (width == kPanel || width == kWidth) {
    tile(piece.count, a, a_stride, b.data, b.step, start.data, start.step, c, c_row);
    return;
  }
  alignas(64) float rest[kRows * kPanel];
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kPanel; ++j) rest[i * kPanel + j] = j < width ? start.data[i * start.step + j] : 0.0F;
  }
  tile(piece.count, a, a_stride, b.data, b.step, rest, kPanel, rest, kPanel);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) c[i * c_row + j] = rest[i * kPanel + j];
  }
}

// Where rows of the result start from before anything is added.
inline Rows first_rows(const Gemm& gemm, int64_t row, int64_t n) {
  if (gemm.bias != nullptr && gemm.add != nullptr) return {gemm.c + row * gemm.c_row + n, gemm.c_row};  // start_rows
  if (gemm.add != nullptr) return {gemm.add + row * gemm.add_row + n, gemm.add_row};
  if (gemm.bias != nullptr) return {gemm.bias + n, 0};
  return {kZeros, 0};
}

// One group of depths, packed one behind the other, for all rows and columns [n, n + columns).
inline void multiply_group(const Gemm& gemm, const GemmBlock& block, const DepthGroups& group, int64_t n,
                           int64_t columns, bool is_first, const float* packed) {
  const int64_t panels = (columns + kPanel - 1) / kPanel;
  for_row_pieces(block.row_begin, block.row_end, [&](int64_t row, int64_t rows) {
    if (is_first && gemm.bias != nullptr && gemm.add != nullptr) start_rows(gemm, row, rows, n, columns);
    for (int64_t j = 0; j < columns; j += kPanel) {
      const int64_t width = columns - j < kPanel ? columns - j : kPanel;
      float* c = gemm.c + row * gemm.c_row + n + j;
      Rows start = is_first ? first_rows(gemm, row, n + j) : Rows{c, gemm.c_row};
      const float* from = packed;
      for (int i = 0; i < group.count; ++i) {
        const DepthPiece& piece = group.pieces[i];
        const GemmTerm& term = *piece.term;
        const Rows b = piece.is_direct ? Rows{term.b + piece.begin * term.b_depth + n + j, term.b_depth}
                                       : Rows{from + j * piece.count, kPanel};
        multiply_panel(piece, row, rows, b, start, c, gemm.c_row, width);
        start = {c, gemm.c_row};
        if (!piece.is_direct) from += panels * kPanel * piece.count;
      }
    }
  });
}

void gemm_block(const Gemm& gemm, const GemmBlock& block, float* scratch) {
  for (int64_t n = block.column_begin; n < block.column_end; n += kBlockColumns) {
    const int64_t columns = block.column_end - n < kBlockColumns ? block.column_end - n : kBlockColumns;
    const bool has_few_rows = block.row_end - block.row_begin <= 2 * kRows && columns % kWidth == 0;
    DepthGroups group(gemm);
    for (bool is_first = true; group.next(has_few_rows); is_first = false) {
      float* to = scratch;
      for (int i = 0; i < group.count; ++i) {
        const DepthPiece& piece = group.pieces[i];
        if (piece.is_direct) continue;
        pack_block(*piece.term, piece.begin, piece.count, n, columns, to);
        to += (columns + kPanel - 1) / kPanel * kPanel * piece.count;
      }
      multiply_group(gemm, block, group, n, columns, is_first, scratch);
    }
  }
}
