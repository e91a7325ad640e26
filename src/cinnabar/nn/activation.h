// Activations that checkpoints name.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "cinnabar/nn/layer.h"

namespace cinnabar::nn {

enum class Activation { QuickGelu, Gelu, Silu };

// "quick_gelu", "gelu", "silu": the words of transformers' configurations. Throws Error{Format} for others.
Activation activation_from(const std::string& word);
at::Tensor activate(Activation activation, const at::Tensor& x);
at::Tensor quick_gelu(const at::Tensor& x);  // x * sigmoid(1.702 x)

// A linear layer to twice the width, the second half of which gates the first: h * gelu(g).
class Geglu : public Module {
 public:
  Geglu(int64_t in, int64_t out);
  at::Tensor forward(const at::Tensor& x) const;  // [..., in] -> [..., out]

 private:
  Linear proj_;
};

}  // namespace cinnabar::nn
