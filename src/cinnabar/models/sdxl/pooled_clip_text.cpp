#include "cinnabar/models/sdxl/pooled_clip_text.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

namespace cinnabar::models::sdxl {

PooledClipText::PooledClipText(const nn::ClipTextConfig& config, int64_t rows, int64_t columns, bool is_transposed)
    : nn::ClipText(config), projection_(at::empty({rows, columns})), is_transposed_(is_transposed) {
  add("text_projection", projection_);
}

at::Tensor PooledClipText::project(const at::Tensor& pooled) const {
  return at::matmul(pooled, is_transposed_ ? projection_.t() : projection_);
}

void PooledClipText::transpose_projection() { projection_ = projection_.t().contiguous(); }

}  // namespace cinnabar::models::sdxl
