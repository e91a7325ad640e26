#include "cinnabar/nn/cpu_kernels.h"

#include <cstdlib>
#include <string_view>

namespace cinnabar::nn {

namespace {

const CpuKernels* choose() {
#if defined(__x86_64__)
  const char* wish = std::getenv("CINNABAR_CPU_KERNELS");
  const std::string_view wanted = wish == nullptr ? "" : wish;
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  if (wanted == "none") return nullptr;
  if (has_avx512 && wanted != "avx2" && avx512_kernels() != nullptr) return avx512_kernels();
  if (has_avx2) return avx2_kernels();
#endif
  return nullptr;
}

}  // namespace

const CpuKernels* cpu_kernels() {
  static const CpuKernels* const chosen = choose();
  return chosen;
}

}  // namespace cinnabar::nn
