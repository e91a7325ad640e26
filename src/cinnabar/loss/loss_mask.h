// Masked loss: parts of a picture that count less, or not at all.
#pragma once

#include <ATen/core/Tensor.h>

namespace cinnabar::loss {

// B batch, H W size of the loss, h w size of the mask (any).
// loss [B, C, H, W]; mask [B, h, w] or [B, 1, h, w] in 0..1, averaged down to [H, W]. The mean that follows is over all
// elements: a masked picture gives a smaller loss, as in the reference. `is_normalised` divides each picture's loss by
// the mean of its mask, so that this mean is one over what is not masked; a mask of zeros stays without loss.
at::Tensor apply_mask(const at::Tensor& loss, const at::Tensor& mask, bool is_normalised = false);

// Red channel of a conditioning picture [B, 3, h, w] in -1..1, as a mask [B, h, w] in 0..1.
at::Tensor mask_from_conditioning(const at::Tensor& picture);

}  // namespace cinnabar::loss
