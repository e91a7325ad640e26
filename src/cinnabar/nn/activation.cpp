#include "cinnabar/nn/activation.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/fused_elementwise.h"

namespace cinnabar::nn {

Activation activation_from(const std::string& word) {
  if (word == "quick_gelu") return Activation::QuickGelu;
  if (word == "gelu") return Activation::Gelu;
  if (word == "silu" || word == "swish") return Activation::Silu;
  throw base::Error(base::ErrorCode::Format,
                    "unknown activation \"" + word + "\" in a model configuration: expected quick_gelu, gelu or silu");
}

at::Tensor activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::QuickGelu:
      return quick_gelu(x);
    case Activation::Gelu:
      return at::gelu(x);
    case Activation::Silu:
      return at::silu(x);
  }
  base::assertion_failed("a known activation", __FILE__, __LINE__);
}

at::Tensor quick_gelu(const at::Tensor& x) { return x * at::sigmoid(x * 1.702); }

Geglu::Geglu(int64_t in, int64_t out) : proj_(in, 2 * out) { add("proj", proj_); }

at::Tensor Geglu::forward(const at::Tensor& x) const {
  const at::Tensor both = proj_.forward(x);
  if (is_gate_fused(both)) return gated(both);
  const auto halves = both.chunk(2, -1);
  return halves[0] * at::gelu(halves[1]);
}

}  // namespace cinnabar::nn
