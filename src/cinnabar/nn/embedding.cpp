#include "cinnabar/nn/embedding.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

namespace cinnabar::nn {

Embedding::Embedding(int64_t rows, int64_t width, double deviation) : deviation_(deviation) {
  weight = at::empty({rows, width});
  add("weight", weight);
}

at::Tensor Embedding::forward(const at::Tensor& ids) const { return at::embedding(weight, ids); }

}  // namespace cinnabar::nn
