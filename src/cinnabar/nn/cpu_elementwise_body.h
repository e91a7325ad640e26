// Normalisation with activation, and gates. No include guard and no namespace: part of cpu_kernels_avx512.cpp and
// cpu_kernels_avx2.cpp, which define Vec.

// e^x to 2 units in the last place; 0 far below, finite far above.
inline Vec exponential(Vec x) {
  x = largest(least(x, all(88.3762626647949F)), all(-87.3365478515625F));
  const Vec n = rounded(mul(x, all(1.44269504088896341F)));
  Vec r = fma(n, all(-0.693359375F), x);  // ln 2 in two parts, the first with few bits
  r = fma(n, all(2.12194440e-4F), r);
  Vec p = all(1.9875691500e-4F);  // minimax on [-ln 2 / 2, ln 2 / 2] (Cephes, expf)
  p = fma(p, r, all(1.3981999507e-3F));
  p = fma(p, r, all(8.3334519073e-3F));
  p = fma(p, r, all(4.1665795894e-2F));
  p = fma(p, r, all(1.6666665459e-1F));
  p = fma(p, r, all(5.0000001201e-1F));
  p = fma(mul(r, r), p, add(r, all(1.0F)));
  return scaled_by_power(p, n);
}

inline Vec sigmoid(Vec x) { return divide(all(1.0F), add(all(1.0F), exponential(sub(zero(), x)))); }

// erf to 1.5e-7 (Abramowitz and Stegun, 7.1.26); `gauss` is e^(-x^2).
inline Vec error_function(Vec x, Vec gauss) {
  const Vec t = divide(all(1.0F), fma(all(0.3275911F), magnitude(x), all(1.0F)));
  Vec p = all(1.061405429F);
  p = fma(p, t, all(-1.453152027F));
  p = fma(p, t, all(1.421413741F));
  p = fma(p, t, all(-0.284496736F));
  p = fma(p, t, all(0.254829592F));
  return with_sign(sub(all(1.0F), mul(mul(p, t), gauss)), x);
}

// Calls work(from, count) for pieces of [0, width) of kWidth, the last one perhaps smaller.
struct Piece {
  int64_t at;
  int64_t count;
};

inline Vec load_some(const float* p, int64_t count) {
  if (count >= kWidth) return load(p);
  alignas(64) float values[kWidth] = {};
  for (int64_t i = 0; i < count; ++i) values[i] = p[i];
  return load(values);
}

inline void store_some(float* p, Vec v, int64_t count) {
  if (count >= kWidth) return store(p, v);
  alignas(64) float values[kWidth];
  store(values, v);
  for (int64_t i = 0; i < count; ++i) p[i] = values[i];
}

void group_norm_moments(const GroupNormChunk& chunk, float* means, float* squares) {
  const Vec share = all(1.0F / static_cast<float>(chunk.positions));
  for (int64_t c = 0; c < chunk.channels; c += kWidth) {
    const int64_t count = chunk.channels - c;
    Vec sum = zero();
    for (int64_t i = 0; i < chunk.positions; ++i) sum = add(sum, load_some(chunk.x + i * chunk.channels + c, count));
    const Vec mean = mul(sum, share);
    Vec square = zero();
    for (int64_t i = 0; i < chunk.positions; ++i) {
      const Vec distance = sub(load_some(chunk.x + i * chunk.channels + c, count), mean);
      square = fma(distance, distance, square);
    }
    store_some(means + c, mean, count);
    store_some(squares + c, square, count);
  }
}

void group_norm_apply(const GroupNormChunk& chunk) {
  for (int64_t i = 0; i < chunk.positions; ++i) {
    const float* x = chunk.x + i * chunk.channels;
    float* y = chunk.y + i * chunk.channels;
    for (int64_t c = 0; c < chunk.channels; c += kWidth) {
      const int64_t count = chunk.channels - c;
      Vec u = fma(load_some(x + c, count), load_some(chunk.scale + c, count), load_some(chunk.shift + c, count));
      if (chunk.has_silu) u = mul(u, sigmoid(u));
      store_some(y + c, u, count);
    }
  }
}

void group_norm_sums(const GroupNormChunk& chunk, const float* centers, float* sums, float* products) {
  for (int64_t c = 0; c < chunk.channels; c += kWidth) {
    const int64_t count = chunk.channels - c;
    const Vec scale = load_some(chunk.scale + c, count);
    const Vec shift = load_some(chunk.shift + c, count);
    const Vec center = load_some(centers + c, count);
    Vec sum = zero();
    Vec product = zero();
    for (int64_t i = 0; i < chunk.positions; ++i) {
      const Vec x = load_some(chunk.x + i * chunk.channels + c, count);
      Vec gradient = load_some(chunk.gradient + i * chunk.channels + c, count);
      if (chunk.has_silu) {
        const Vec u = fma(x, scale, shift);
        const Vec s = sigmoid(u);
        gradient = mul(gradient, mul(s, fma(u, sub(all(1.0F), s), all(1.0F))));
      }
      sum = add(sum, gradient);
      product = fma(gradient, sub(x, center), product);
      store_some(chunk.y + i * chunk.channels + c, gradient, count);
    }
    store_some(sums + c, sum, count);
    store_some(products + c, product, count);
  }
}

void group_norm_combine(const GroupNormChunk& chunk, const float* by_gradient, const float* by_x,
                        const float* constant) {
  for (int64_t i = 0; i < chunk.positions; ++i) {
    const float* x = chunk.x + i * chunk.channels;
    float* y = chunk.y + i * chunk.channels;
    for (int64_t c = 0; c < chunk.channels; c += kWidth) {
      const int64_t count = chunk.channels - c;
      const Vec rest = fma(load_some(x + c, count), load_some(by_x + c, count), load_some(constant + c, count));
      store_some(y + c, fma(load_some(y + c, count), load_some(by_gradient + c, count), rest), count);
    }
  }
}

// gelu(x) = x * cdf, its derivative cdf + x * density.
struct GaussParts {
  Vec cdf, density;
};

inline GaussParts gauss_parts(Vec x) {
  const Vec scaled = mul(x, all(0.70710678118654752F));
  const Vec gauss = exponential(sub(zero(), mul(scaled, scaled)));
  return {mul(all(0.5F), add(all(1.0F), error_function(scaled, gauss))), mul(all(0.39894228040143268F), gauss)};
}

void gated_forward(const float* x, float* y, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i, x += 2 * width, y += width) {
    for (int64_t c = 0; c < width; c += kWidth) {
      const int64_t count = width - c;
      const Vec gate = load_some(x + width + c, count);
      store_some(y + c, mul(load_some(x + c, count), mul(gate, gauss_parts(gate).cdf)), count);
    }
  }
}

void gated_backward(const float* x, const float* gradient, float* x_gradient, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i, x += 2 * width, x_gradient += 2 * width, gradient += width) {
    for (int64_t c = 0; c < width; c += kWidth) {
      const int64_t count = width - c;
      const Vec gate = load_some(x + width + c, count);
      const GaussParts parts = gauss_parts(gate);
      const Vec g = load_some(gradient + c, count);
      store_some(x_gradient + c, mul(g, mul(gate, parts.cdf)), count);
      const Vec slope = fma(gate, parts.density, parts.cdf);
      store_some(x_gradient + width + c, mul(mul(g, load_some(x + c, count)), slope), count);
    }
  }
}
