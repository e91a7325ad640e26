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

template <int kTerms>
inline Vec polynomial(const float (&coefficients)[kTerms], Vec x) {
  Vec p = all(coefficients[0]);
  for (int i = 1; i < kTerms; ++i) p = fma(p, x, all(coefficients[i]));
  return p;
}

// erf(z) / z in z^2, |z| < 1; erfc(z) e^(z^2) z in 1 / z^2, from 1 to 2 and above (Cephes, ndtrf).
constexpr float kNear[] = {7.853861353e-5F, -8.010193625e-4F, 5.188327685e-3F, -2.685381193e-2F,
                           1.128358514e-1F, -3.761262582e-1F, 1.128379165F};
constexpr float kMiddle[] = {2.326819970e-2F,  -1.387039388e-1F, 3.687424675e-1F,  -5.824733027e-1F, 6.210004622e-1F,
                             -4.944515323e-1F, 3.404879938e-1F,  -2.741127028e-1F, 5.638259427e-1F};
constexpr float kFar[] = {-1.047766400e+1F, 1.297719955e+1F, -7.495518718F,    2.921019019F,
                          -1.015265279F,    4.218463358e-1F, -2.820767440e-1F, 5.641895068e-1F};

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

// The tails to 3e-7 of their own size: gradients multiply what is lost there.
inline GaussParts gauss_parts(Vec x) {
  const Vec scaled = mul(x, all(0.70710678118654752F));
  const Vec z = magnitude(scaled);
  const Vec square = mul(z, z);
  const Vec gauss = exponential(sub(zero(), square));
  const Vec inverse = divide(all(1.0F), z);
  const Vec inverse_square = mul(inverse, inverse);
  const Vec series = where_less(z, all(2.0F), polynomial(kMiddle, inverse_square), polynomial(kFar, inverse_square));
  const Vec tail = mul(mul(all(0.5F), gauss), mul(inverse, series));
  const Vec near = fma(mul(all(0.5F), scaled), polynomial(kNear, square), all(0.5F));
  const Vec far = where_less(scaled, zero(), tail, sub(all(1.0F), tail));
  return {where_less(z, all(1.0F), near, far), mul(all(0.39894228040143268F), gauss)};
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
