#include "cinnabar/nn/attention_choice.h"

#include <atomic>

namespace cinnabar::nn {

namespace {

// Read by every thread that runs a model.
std::atomic<int64_t> g_largest_fused_head{kAnyHead};

}  // namespace

void set_largest_fused_head(int64_t width) { g_largest_fused_head = width; }

int64_t largest_fused_head() { return g_largest_fused_head; }

}  // namespace cinnabar::nn
