// Which attention the layers of this process take: libtorch's own, whose fused kernels need little memory where they
// exist, or ours in pieces (chunked_attention.h).
#pragma once

#include <cstdint>
#include <limits>

namespace cinnabar::nn {

inline constexpr int64_t kAnyHead = std::numeric_limits<int64_t>::max();

// Heads up to this width (of one head) go to libtorch, wider ones to attention in pieces: 0 for all in pieces, kAnyHead
// for none. For the whole process, as libtorch's own switches are; to be set before the first model runs.
// At the start: kAnyHead, as fits the CPU, which has a fused kernel for every width.
void set_largest_fused_head(int64_t width);
int64_t largest_fused_head();

}  // namespace cinnabar::nn
