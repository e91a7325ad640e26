// Tensors from file views, and file views of tensors.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::tensor {

// A tensor of its own memory on the CPU, in the file's element type.
at::Tensor copy(const formats::TensorView& view);
// The same, converted to `dtype` and moved to `device` on the way.
at::Tensor copy(const formats::TensorView& view, at::ScalarType dtype, at::Device device = at::kCPU);
// The same into `place`, on the CPU, of the view's shape.
void copy_into(const formats::TensorView& view, at::Tensor& place);
// No copy: the tensor reads the view's bytes and keeps `owner` (the Checkpoint) alive. Must not be written to, since
// the bytes may be a read-only mapping. Falls back to a copy when the bytes are not aligned for the element type.
at::Tensor share(const formats::TensorView& view, std::shared_ptr<const void> owner);

// The bytes of a contiguous CPU tensor, valid while the tensor lives unchanged. Throws Error{Internal} otherwise.
formats::TensorView view_of(const at::Tensor& tensor);

}  // namespace cinnabar::tensor
