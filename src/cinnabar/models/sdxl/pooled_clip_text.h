// SDXL's second text encoder: CLIP with a projection of the state at the end token.
#pragma once

#include <ATen/core/Tensor.h>

#include "cinnabar/nn/clip_text.h"

namespace cinnabar::models::sdxl {

class PooledClipText : public nn::ClipText {
 public:
  // The projection's parameter is [rows, columns]: from rows to columns as open_clip stores it, unless
  // `is_transposed`, then from columns to rows.
  PooledClipText(const nn::ClipTextConfig& config, int64_t rows, int64_t columns, bool is_transposed);
  at::Tensor project(const at::Tensor& pooled) const;  // [B, D] -> [B, P]

  // The parameter "text_projection" is turned to the form [D, P]; for what was loaded from a linear layer's weight.
  void transpose_projection();
  at::Tensor& projection() { return projection_; }

 private:
  at::Tensor projection_;
  bool is_transposed_;
};

}  // namespace cinnabar::models::sdxl
