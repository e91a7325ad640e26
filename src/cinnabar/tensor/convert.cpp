#include "cinnabar/tensor/convert.h"

#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "cinnabar/base/checked.h"
#include "cinnabar/base/error.h"
#include "cinnabar/tensor/dtype.h"

namespace cinnabar::tensor {

namespace {

// The reader has checked views against the file; this guards against views made by hand.
void check_size(const formats::TensorView& view) {
  uint64_t bytes = formats::element_size(view.dtype);
  for (const int64_t side : view.shape) bytes = base::checked_mul(bytes, static_cast<uint64_t>(side));
  CINNABAR_ASSERT(bytes == view.bytes.size());
}

// libtorch takes a mutable pointer; nothing writes through it.
void* mutable_bytes(const formats::TensorView& view) {
  return const_cast<std::byte*>(view.bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

bool is_aligned(const formats::TensorView& view) {
  return reinterpret_cast<uintptr_t>(view.bytes.data()) % formats::element_size(view.dtype) == 0;
}

}  // namespace

at::Tensor copy(const formats::TensorView& view) {
  check_size(view);
  at::Tensor result = at::empty(view.shape, at::TensorOptions().dtype(scalar_type(view.dtype)));
  if (!view.bytes.empty()) std::memcpy(result.data_ptr(), view.bytes.data(), view.bytes.size());
  return result;
}

at::Tensor copy(const formats::TensorView& view, at::ScalarType dtype, at::Device device) {
  const at::ScalarType file_type = scalar_type(view.dtype);
  if (view.bytes.empty() || !is_aligned(view)) return copy(view).to(device, dtype);
  check_size(view);
  const at::Tensor borrowed = at::from_blob(mutable_bytes(view), view.shape, at::TensorOptions().dtype(file_type));
  // Convert on the CPU, so that only the final bytes travel to a device.
  return borrowed.to(dtype, /*non_blocking=*/false, /*copy=*/dtype == file_type && device.is_cpu()).to(device);
}

void copy_into(const formats::TensorView& view, at::Tensor& place) {
  if (view.bytes.empty()) return;
  if (!is_aligned(view)) {
    place.copy_(copy(view));
    return;
  }
  check_size(view);
  place.copy_(at::from_blob(mutable_bytes(view), view.shape, at::TensorOptions().dtype(scalar_type(view.dtype))));
}

at::Tensor share(const formats::TensorView& view, std::shared_ptr<const void> owner) {
  if (view.bytes.empty() || !is_aligned(view)) return copy(view);
  check_size(view);
  return at::from_blob(
      mutable_bytes(view), view.shape, [kept = std::move(owner)](void*) mutable { kept.reset(); },
      at::TensorOptions().dtype(scalar_type(view.dtype)));
}

formats::TensorView view_of(const at::Tensor& tensor) {
  CINNABAR_ASSERT(tensor.device().is_cpu() && tensor.is_contiguous());
  return {.dtype = file_dtype(tensor.scalar_type()),
          .shape = tensor.sizes().vec(),
          .bytes = {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
}

}  // namespace cinnabar::tensor
