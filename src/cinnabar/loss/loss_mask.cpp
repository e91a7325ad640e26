#ifdef CINNABAR_ENGINE

#include "cinnabar/loss/loss_mask.h"

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"

namespace cinnabar::loss {

at::Tensor apply_mask(const at::Tensor& loss, const at::Tensor& mask) {
  CINNABAR_ASSERT(loss.dim() == 4 && mask.size(0) == loss.size(0));
  const at::Tensor plane = (mask.dim() == 3 ? mask.unsqueeze(1) : mask).to(loss.device(), loss.scalar_type());
  return loss * at::adaptive_avg_pool2d(plane, {loss.size(2), loss.size(3)});  // [B, 1, H, W]
}

at::Tensor mask_from_conditioning(const at::Tensor& picture) { return picture.select(1, 0) / 2.0 + 0.5; }

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
