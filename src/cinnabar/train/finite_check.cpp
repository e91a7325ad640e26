#include "cinnabar/train/finite_check.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/base/error.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/tensor/finite_file.h"

namespace cinnabar::train {

namespace {

bool is_finite(const at::Tensor& tensor) {
  // Faster than the operators, which write a mask: training waits for this at each save.
  if (tensor.device().is_cpu() && tensor.is_contiguous()) return tensor::is_finite(tensor::view_of(tensor));
  return tensor.isfinite().all().item<bool>();
}

std::string first_bad(const optim::FlatParameters& parameters, at::Tensor optim::ParameterGroup::* buffer) {
  const at::NoGradGuard no_grad;
  for (const optim::ParameterGroup& group : parameters.groups()) {
    const at::Tensor& all = group.*buffer;
    if (is_finite(all)) continue;
    for (const optim::ParameterSlot& slot : group.slots) {
      if (!is_finite(all.narrow(0, slot.offset, slot.count))) return slot.name;
    }
  }
  return {};
}

}  // namespace

std::string first_bad_value(const optim::FlatParameters& parameters) {
  return first_bad(parameters, &optim::ParameterGroup::values);
}

std::string first_bad_gradient(const optim::FlatParameters& parameters) {
  return first_bad(parameters, &optim::ParameterGroup::gradients);
}

void check_finite(const optim::NamedTensors& tensors, const std::filesystem::path& file, bool is_narrowed) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_floating_point() || is_finite(tensor)) continue;
    throw base::Error(base::ErrorCode::Data,
                      file.string() + " is not written, and stays as it was if it was there: " + name +
                          (is_narrowed ? " has values that do not fit the type of the file; save_precision bf16 or "
                                         "float has more range"
                                       : " has values that are not finite; the training has diverged. Lower the "
                                         "learning rate and go on from an older state"));
  }
}

}  // namespace cinnabar::train
