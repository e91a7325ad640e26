// The kernels for AVX2 with FMA. Compiled with the options of that instruction set (CMakeLists.txt): nothing here may
// be shared with other files, or the linker could take this file's version of an inline function for all.
#include "cinnabar/nn/cpu_kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

namespace cinnabar::nn {

namespace {

using Vec = __m256;
constexpr int kWidth = 8;
constexpr int kRows = 6;  // 12 sums, 2 columns, 1 factor: 15 of the 16 registers
constexpr const char* kName = "avx2";

inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline Vec all(float value) { return _mm256_set1_ps(value); }
inline Vec zero() { return _mm256_setzero_ps(); }
inline Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
inline Vec divide(Vec a, Vec b) { return _mm256_div_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec least(Vec a, Vec b) { return _mm256_min_ps(a, b); }
inline Vec largest(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec rounded(Vec a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Vec magnitude(Vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
// x where a < b, else y.
inline Vec where_less(Vec a, Vec b, Vec x, Vec y) { return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
// a * 2^n for whole n.
inline Vec scaled_by_power(Vec a, Vec n) {
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), exponent));
}

// 8 rows of 8 floats, rows `from_row` apart, become columns.
inline void transpose_block(const float* from, int64_t from_row, float* to, int64_t to_row) {
  __m256 r[8];
  __m256 t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * from_row);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    _mm256_storeu_ps(to + j * to_row, _mm256_permute2f128_ps(r[j], r[4 + j], 0x20));
    _mm256_storeu_ps(to + (4 + j) * to_row, _mm256_permute2f128_ps(r[j], r[4 + j], 0x31));
  }
}

// clang-format off: each uses what is above it
#include "cinnabar/nn/cpu_gemm_body.h"
#include "cinnabar/nn/cpu_winograd_body.h"
#include "cinnabar/nn/cpu_elementwise_body.h"
#include "cinnabar/nn/cpu_attention_body.h"
// clang-format on

}  // namespace

const CpuKernels* avx2_kernels() {
  static constexpr CpuKernels kernels = CINNABAR_CPU_KERNEL_TABLE;
  return &kernels;
}

}  // namespace cinnabar::nn
#else
namespace cinnabar::nn {
const CpuKernels* avx2_kernels() { return nullptr; }
}  // namespace cinnabar::nn
#endif
