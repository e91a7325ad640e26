// The kernels for AVX-512. Compiled with the options of that instruction set (CMakeLists.txt): nothing here may be
// shared with other files, or the linker could take this file's version of an inline function for all.
#include "cinnabar/nn/cpu_kernels.h"

#if defined(__AVX512F__)
#include <immintrin.h>

namespace cinnabar::nn {

namespace {

using Vec = __m512;
constexpr int kWidth = 16;
constexpr int kRows = 14;  // 28 sums, 2 columns, 1 factor: 31 of the 32 registers
constexpr const char* kName = "avx512";

inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline Vec all(float value) { return _mm512_set1_ps(value); }
inline Vec zero() { return _mm512_setzero_ps(); }
inline Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec divide(Vec a, Vec b) { return _mm512_div_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec least(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec largest(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec rounded(Vec a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Vec magnitude(Vec a) { return _mm512_abs_ps(a); }
// x where a < b, else y.
inline Vec where_less(Vec a, Vec b, Vec x, Vec y) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
// a * 2^n for whole n.
inline Vec scaled_by_power(Vec a, Vec n) {
  const __m512i exponent = _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23);
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), exponent));
}

// 16 rows of 16 floats, rows `from_row` apart, become columns.
inline void transpose_block(const float* from, int64_t from_row, float* to, int64_t to_row) {
  __m512 r[16];
  __m512 t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_ps(from + i * from_row);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const auto pair = [](__m512 low, __m512 high, bool is_high) {
      const __m512d a = _mm512_castps_pd(low);
      const __m512d b = _mm512_castps_pd(high);
      return _mm512_castpd_ps(is_high ? _mm512_unpackhi_pd(a, b) : _mm512_unpacklo_pd(a, b));
    };
    r[i] = pair(t[i], t[i + 2], false);
    r[i + 1] = pair(t[i], t[i + 2], true);
    r[i + 2] = pair(t[i + 1], t[i + 3], false);
    r[i + 3] = pair(t[i + 1], t[i + 3], true);
  }
  // r[4 g + j]: column j of each quarter, rows 4 g to 4 g + 3.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 low_even = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88);  // quarters 0, 2
    const __m512 low_odd = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd);   // quarters 1, 3
    const __m512 high_even = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
    const __m512 high_odd = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
    _mm512_storeu_ps(to + j * to_row, _mm512_shuffle_f32x4(low_even, high_even, 0x88));
    _mm512_storeu_ps(to + (4 + j) * to_row, _mm512_shuffle_f32x4(low_odd, high_odd, 0x88));
    _mm512_storeu_ps(to + (8 + j) * to_row, _mm512_shuffle_f32x4(low_even, high_even, 0xdd));
    _mm512_storeu_ps(to + (12 + j) * to_row, _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd));
  }
}

// clang-format off: each uses what is above it
#include "cinnabar/nn/cpu_gemm_body.h"
#include "cinnabar/nn/cpu_winograd_body.h"
#include "cinnabar/nn/cpu_elementwise_body.h"
#include "cinnabar/nn/cpu_attention_body.h"
// clang-format on

}  // namespace

const CpuKernels* avx512_kernels() {
  static constexpr CpuKernels kernels = CINNABAR_CPU_KERNEL_TABLE;
  return &kernels;
}

}  // namespace cinnabar::nn
#else
namespace cinnabar::nn {
const CpuKernels* avx512_kernels() { return nullptr; }
}  // namespace cinnabar::nn
#endif
