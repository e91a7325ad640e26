// Winograd's F(2x2, 3x3) (Lavin and Gray 2015, "Fast algorithms for convolutional neural networks", section 4.1) with
// channels last. Weights are transformed anew for each call, a block at a time that stays in the cache: reading them
// once from memory is what a call costs anyway, and no second copy is kept.
// No include guard and no namespace: part of cpu_kernels_avx512.cpp and cpu_kernels_avx2.cpp, which define Vec.

constexpr int64_t kWinogradTiles = 192;  // of one block: 16 x 192 x 32 sums are 384 KiB
constexpr int64_t kWinogradDepth = 64;   // input channels of a block of weights: 128 KiB
constexpr int kPlanes = 16;

struct TilePlace {
  int64_t sample, y, x;  // of the first result
};

inline TilePlace place_of(const Winograd& task, int64_t tile) {
  const int64_t across = (task.width + 1) / 2;
  const int64_t down = (task.height + 1) / 2;
  const int64_t index = task.tile_first + tile;
  return {index / (across * down), index / across % down * 2, index % across * 2};
}

// B' d B of the 4x4 inputs of each tile.
void winograd_input(const Winograd& task, int64_t begin, int64_t end) {
  const int64_t plane = task.tile_count * task.tile_row;
  for (int64_t tile = begin; tile < end; ++tile) {
    const TilePlace place = place_of(task, tile);
    const float* pixels[4][4];
    int64_t steps[4][4];
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t y = place.y + i - 1;
        const int64_t x = place.x + j - 1;
        const bool is_inside = y >= 0 && y < task.height && x >= 0 && x < task.width;
        pixels[i][j] = is_inside ? task.x + ((place.sample * task.height + y) * task.width + x) * task.in : kZeros;
        steps[i][j] = is_inside ? 1 : 0;
      }
    }
    float* to = task.tiles + tile * task.tile_row;
    for (int64_t c = 0; c < task.in; c += kWidth) {
      Vec d[4][4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const Vec d0 = load(pixels[0][j] + c * steps[0][j]);
        const Vec d1 = load(pixels[1][j] + c * steps[1][j]);
        const Vec d2 = load(pixels[2][j] + c * steps[2][j]);
        const Vec d3 = load(pixels[3][j] + c * steps[3][j]);
        d[0][j] = sub(d0, d2);
        d[1][j] = add(d1, d2);
        d[2][j] = sub(d2, d1);
        d[3][j] = sub(d1, d3);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        float* row = to + (4 * i) * plane + c;
        store(row, sub(d[i][0], d[i][2]));
        store(row + plane, add(d[i][1], d[i][2]));
        store(row + 2 * plane, sub(d[i][2], d[i][1]));
        store(row + 3 * plane, sub(d[i][1], d[i][3]));
      }
    }
  }
}

// G g G' of kWidth kernels whose nine taps are `tap_step` apart; plane p goes to `to` + p * plane.
inline void transform_kernels(const float* taps, int64_t tap_step, bool is_mirrored, float* to, int64_t plane) {
  const Vec half = all(0.5F);
  Vec rows[4][3];
#pragma GCC unroll 3
  for (int j = 0; j < 3; ++j) {
    const int column = is_mirrored ? 2 - j : j;
    const Vec g0 = load(taps + ((is_mirrored ? 6 : 0) + column) * tap_step);
    const Vec g1 = mul(half, load(taps + (3 + column) * tap_step));
    const Vec g2 = load(taps + ((is_mirrored ? 0 : 6) + column) * tap_step);
    const Vec sum = mul(half, add(g0, g2));
    rows[0][j] = g0;
    rows[1][j] = add(sum, g1);
    rows[2][j] = sub(sum, g1);
    rows[3][j] = g2;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Vec sum = mul(half, add(rows[i][0], rows[i][2]));
    const Vec middle = mul(half, rows[i][1]);
    store(to + (4 * i) * plane, rows[i][0]);
    store(to + (4 * i + 1) * plane, add(sum, middle));
    store(to + (4 * i + 2) * plane, sub(sum, middle));
    store(to + (4 * i + 3) * plane, rows[i][2]);
  }
}

// Transformed weights of input channels [c, c + count) and one panel of output channels: [16][count][kPanel].
inline void winograd_weights(const Winograd& task, int64_t c, int64_t count, int64_t channel, int64_t channels,
                             float* to) {
  const int64_t plane = count * kPanel;
  for (int64_t group = 0; group < channels; group += kWidth) {
    if (task.is_mirrored) {
      for (int64_t i = 0; i < count; ++i) {
        transform_kernels(task.weights + (c + i) * 9 * task.out + channel + group, task.out, true,
                          to + i * kPanel + group, plane);
      }
      continue;
    }
    alignas(64) float taps[9 * kWidth * kWidth];  // [9][input channel][output channel]
    for (int64_t i = 0; i < count; i += kWidth) {
      for (int64_t t = 0; t < 9; ++t) {
        transpose_block(task.weights + ((channel + group) * 9 + t) * task.in + c + i, 9 * task.in,
                        taps + t * kWidth * kWidth, kWidth);
      }
      for (int64_t j = 0; j < kWidth; ++j) {
        transform_kernels(taps + j * kWidth, kWidth * kWidth, false, to + (i + j) * kPanel + group, plane);
      }
    }
  }
}

// Asks for a slice of the weights that come next, so that they are in the cache when they are transformed: they lie in
// many short runs, which the processor does not foresee.
inline void winograd_prefetch(const Winograd& task, int64_t c, int64_t channel, int64_t channels, int64_t plane) {
  if (c >= task.in) return;
  const int64_t count = task.in - c < kWinogradDepth ? task.in - c : kWinogradDepth;
  constexpr int64_t kLine = 16;  // floats
  const int64_t runs = task.is_mirrored ? count : channels;
  const int64_t length = task.is_mirrored ? channels : count;
  const float* from =
      task.is_mirrored ? task.weights + c * 9 * task.out + channel : task.weights + channel * 9 * task.in + c;
  const int64_t tap = task.is_mirrored ? task.out : task.in;
  for (int64_t run = runs * plane / kPlanes; run < runs * (plane + 1) / kPlanes; ++run) {
    for (int64_t t = 0; t < 9; ++t) {
      for (int64_t i = 0; i < length; i += kLine) __builtin_prefetch(from + (run * 9 + t) * tap + i, 0, 2);
    }
  }
}

// A' m A of one tile and kWidth channels, with bias and what is added, to the 2x2 results that exist.
inline void winograd_output(const Winograd& task, const TilePlace& place, const float* sums, int64_t plane,
                            int64_t channel) {
  Vec rows[2][4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Vec m0 = load(sums + j * plane);
    const Vec m1 = load(sums + (4 + j) * plane);
    const Vec m2 = load(sums + (8 + j) * plane);
    const Vec m3 = load(sums + (12 + j) * plane);
    rows[0][j] = add(add(m0, m1), m2);
    rows[1][j] = sub(sub(m1, m2), m3);
  }
  const Vec bias = task.bias == nullptr ? zero() : load(task.bias + place.sample * task.bias_batch + channel);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    if (place.y + i >= task.height) break;
    const int64_t at = ((place.sample * task.height + place.y + i) * task.width + place.x) * task.out + channel;
    Vec left = add(bias, add(add(rows[i][0], rows[i][1]), rows[i][2]));
    if (task.add != nullptr) left = add(left, load(task.add + at));
    store(task.y + at, left);
    if (place.x + 1 >= task.width) continue;
    Vec right = add(bias, sub(sub(rows[i][1], rows[i][2]), rows[i][3]));
    if (task.add != nullptr) right = add(right, load(task.add + at + task.out));
    store(task.y + at + task.out, right);
  }
}

void winograd_block(const Winograd& task, int64_t begin, int64_t end, int64_t channel, float* scratch) {
  const int64_t channels = task.out - channel < kPanel ? task.out - channel : kPanel;
  const int64_t tiles = end - begin;
  float* const weights = scratch;
  float* const sums = scratch + kPlanes * kWinogradDepth * kPanel;  // [16][tiles][kPanel]
  const int64_t plane = task.tile_count * task.tile_row;
  for (int64_t c = 0; c < task.in; c += kWinogradDepth) {
    const int64_t count = task.in - c < kWinogradDepth ? task.in - c : kWinogradDepth;
    winograd_weights(task, c, count, channel, channels, weights);
    for (int64_t p = 0; p < kPlanes; ++p) {
      winograd_prefetch(task, c + count, channel, channels, p);
      const float* from = task.tiles + p * plane + begin * task.tile_row + c;
      for_row_pieces(0, tiles, [&](int64_t row, int64_t rows) {
        float* to = sums + (p * tiles + row) * kPanel;
        tile_for(rows, channels > kWidth ? 2 : 1, false)(count, from + row * task.tile_row, task.tile_row,
                                                         weights + p * count * kPanel, kPanel, c == 0 ? kZeros : to,
                                                         c == 0 ? 0 : kPanel, to, kPanel);
      });
    }
  }
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const TilePlace place = place_of(task, begin + tile);
    for (int64_t group = 0; group < channels; group += kWidth) {
      winograd_output(task, place, sums + tile * kPanel + group, tiles * kPanel, channel + group);
    }
  }
}
