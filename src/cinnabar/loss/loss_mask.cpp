#ifdef CINNABAR_ENGINE

#include "cinnabar/loss/loss_mask.h"

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"

namespace cinnabar::loss {

at::Tensor apply_mask(const at::Tensor& loss, const at::Tensor& mask, bool is_normalised) {
  CINNABAR_ASSERT(loss.dim() == 4 && mask.size(0) == loss.size(0));
  const at::Tensor plane = (mask.dim() == 3 ? mask.unsqueeze(1) : mask).to(loss.device(), loss.scalar_type());
  const at::Tensor weight = at::adaptive_avg_pool2d(plane, {loss.size(2), loss.size(3)});  // [B, 1, H, W]
  if (!is_normalised) return loss * weight;
  const at::Tensor mean = weight.mean({1, 2, 3}, true);  // [B, 1, 1, 1]
  return loss * weight / mean.masked_fill(mean == 0, 1.0);
}

at::Tensor mask_from_conditioning(const at::Tensor& picture) { return picture.select(1, 0) / 2.0 + 0.5; }

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
