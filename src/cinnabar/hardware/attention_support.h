// Which heads of attention libtorch's fused kernels take on a GPU, by chip and version of libtorch; all others go to
// our own attention in pieces (nn/chunked_attention.h).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "cinnabar/hardware/machine.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

struct FusedAttention {
  int64_t largest_head = 0;  // widest head that the kernel takes; 0: no kernel
  bool needs_flag = false;   // TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1
};

// On AMD every fused kernel of libtorch comes from AOTriton; each version of libtorch brings its own, which knows other
// chips. `gfx` is what the runtime sees (effective_gfx). libtorch before 2.5 counts as having none.
FusedAttention fused_attention(std::string_view gfx, const Version& libtorch);

struct AttentionAdvice {
  int64_t largest_fused_head = std::numeric_limits<int64_t>::max();  // 0: all attention in pieces
  std::string text;                                                  // what is taken and why, for the log
};

// For the GPU that trains; `gpu` is null when it is not known which one that is.
AttentionAdvice advise_attention(const Machine& machine, const Gpu* gpu);

}  // namespace cinnabar::hardware
