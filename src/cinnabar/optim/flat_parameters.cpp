#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/flat_parameters.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "cinnabar/base/error.h"
#include "cinnabar/tensor/parallel.h"

namespace cinnabar::optim {

namespace {

// Elements: every parameter starts where a block of 8-bit state may start (moment_store.h), and vector kernels find no
// odd rest. The gaps stay zero.
constexpr int64_t kAlignment = 256;
constexpr int64_t kChunk = 16384;

int64_t aligned(int64_t count) { return (count + kAlignment - 1) / kAlignment * kAlignment; }

at::Tensor view_of(const at::Tensor& buffer, const ParameterSlot& slot) {
  return buffer.narrow(0, slot.offset, slot.count).view(slot.shape);
}

// The buffers that layers and backward work on.
const at::Tensor& seen_values(const ParameterGroup& group) {
  return group.stored_values.defined() ? group.stored_values : group.values;
}
const at::Tensor& seen_gradients(const ParameterGroup& group) {
  return group.stored_gradients.defined() ? group.stored_gradients : group.gradients;
}

// Sum of squares of a contiguous fp32 CPU tensor.
double squared_sum(const at::Tensor& flat) {
  const float* data = flat.const_data_ptr<float>();
  const int64_t count = flat.numel();
  std::vector<double> partial(static_cast<size_t>((count + kChunk - 1) / kChunk), 0.0);
  tensor::for_ranges(static_cast<int64_t>(partial.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      double lanes[8] = {};
      const int64_t first = chunk * kChunk;
      const int64_t last = std::min(first + kChunk, count);  // a multiple of 8 apart: buffers are aligned
      for (int64_t i = first; i < last; i += 8) {
        for (int64_t lane = 0; lane < 8; ++lane) {
          const double value = data[i + lane];
          lanes[lane] += value * value;
        }
      }
      for (const double lane : lanes) partial[static_cast<size_t>(chunk)] += lane;
    }
  });
  double sum = 0.0;
  for (const double value : partial) sum += value;
  return sum;
}

}  // namespace

void FlatParameters::set_stored_type(at::ScalarType type) {
  CINNABAR_ASSERT(groups_.empty() && (type == at::kFloat || type == at::kHalf || type == at::kBFloat16));
  stored_type_ = type;
}

void FlatParameters::collect_gradients() {
  const at::NoGradGuard no_grad;
  for (ParameterGroup& group : groups_) {
    if (group.stored_gradients.defined()) group.gradients.copy_(group.stored_gradients);
  }
}

void FlatParameters::store_values() {
  const at::NoGradGuard no_grad;
  for (ParameterGroup& group : groups_) {
    if (!group.stored_values.defined()) continue;
    group.stored_values.copy_(group.values);
    group.values.copy_(group.stored_values);  // the optimizer goes on from what was kept
  }
}

void FlatParameters::round_gradients() {
  const at::NoGradGuard no_grad;
  for (ParameterGroup& group : groups_) {
    if (group.stored_gradients.defined()) group.gradients.copy_(group.gradients.to(stored_type_));
  }
}

void FlatParameters::scale_gradients(double factor) {
  const at::NoGradGuard no_grad;
  for (ParameterGroup& group : groups_) group.gradients.mul_(factor);
  round_gradients();
}

void FlatParameters::add_group(const std::string& name, double lr, const NamedTensors& parameters) {
  if (parameters.empty()) return;
  ParameterGroup group{.name = name, .lr = lr};
  int64_t total = 0;
  for (const auto& [parameter_name, parameter] : parameters) {
    CINNABAR_ASSERT(parameter.defined() && parameter.is_leaf() && parameter.numel() > 0);
    CINNABAR_ASSERT(parameter.device() == parameters.front().second.device());
    for (const at::Tensor& known : parameters_) CINNABAR_ASSERT(!known.is_same(parameter));
    group.slots.push_back({parameter_name, parameter.sizes().vec(), total, parameter.numel()});
    total += aligned(parameter.numel());
  }
  const at::NoGradGuard no_grad;
  const at::TensorOptions options = parameters.front().second.options().dtype(at::kFloat).requires_grad(false);
  group.values = at::zeros({total}, options);
  group.gradients = at::zeros({total}, options);
  if (stored_type_ != at::kFloat) {
    group.stored_values = at::zeros({total}, options.dtype(stored_type_));
    group.stored_gradients = at::zeros({total}, options.dtype(stored_type_));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor parameter = parameters[i].second;
    const at::Tensor value = view_of(seen_values(group), group.slots[i]);
    value.copy_(parameter);
    if (group.stored_values.defined()) view_of(group.values, group.slots[i]).copy_(value);
    parameter.set_data(value);  // keeps the handle that layers and adapters hold
    parameter.requires_grad_(true);
    parameter.mutable_grad() = view_of(seen_gradients(group), group.slots[i]);
    parameters_.push_back(parameter);
  }
  groups_.push_back(std::move(group));
}

int64_t FlatParameters::parameter_count() const {
  int64_t total = 0;
  for (const at::Tensor& parameter : parameters_) total += parameter.numel();
  return total;
}

const ParameterSlot& FlatParameters::slot(const std::string& name, const ParameterGroup*& group) const {
  for (const ParameterGroup& candidate : groups_) {
    for (const ParameterSlot& found : candidate.slots) {
      if (found.name != name) continue;
      group = &candidate;
      return found;
    }
  }
  throw base::Error(base::ErrorCode::Internal, "internal error: no trainable parameter is called " + name);
}

at::Tensor FlatParameters::value(const std::string& name) const {
  const ParameterGroup* group = nullptr;
  const ParameterSlot& found = slot(name, group);
  return view_of(group->values, found);
}

at::Tensor FlatParameters::gradient(const std::string& name) const {
  const ParameterGroup* group = nullptr;
  const ParameterSlot& found = slot(name, group);
  return view_of(group->gradients, found);
}

NamedTensors FlatParameters::values() const {
  NamedTensors result;
  for (const ParameterGroup& group : groups_) {
    for (const ParameterSlot& found : group.slots) result.emplace_back(found.name, view_of(group.values, found));
  }
  return result;
}

void FlatParameters::zero_gradients() {
  for (ParameterGroup& group : groups_) {
    group.gradients.zero_();
    if (group.stored_gradients.defined()) group.stored_gradients.zero_();
  }
}

at::Tensor FlatParameters::gradient_norm() const {
  CINNABAR_ASSERT(!groups_.empty());
  if (groups_.front().gradients.is_cpu()) {
    double sum = 0.0;
    for (const ParameterGroup& group : groups_) sum += squared_sum(group.gradients);
    return at::scalar_tensor(std::sqrt(sum), at::kFloat);
  }
  std::vector<at::Tensor> norms;
  const at::Device device = groups_.front().gradients.device();
  for (const ParameterGroup& group : groups_) norms.push_back(at::linalg_vector_norm(group.gradients).to(device));
  return at::linalg_vector_norm(at::stack(norms));
}

at::Tensor FlatParameters::clip_gradients(double max_norm) {
  const at::Tensor norm = gradient_norm();
  if (max_norm <= 0.0) return norm;
  if (norm.is_cpu()) {
    const double factor = max_norm / (norm.item<double>() + 1e-6);
    if (!(factor < 1.0) || factor == 0.0) return norm;  // NaN and infinite norms end here, too
    scale_gradients(factor);
    return norm;
  }
  // No look at the value: that would make the host wait for the device.
  const at::Tensor factor = (max_norm / (norm + 1e-6)).clamp_max(1.0);
  for (ParameterGroup& group : groups_) group.gradients.mul_(factor.to(group.gradients.device()));
  round_gradients();
  return norm;
}

bool FlatParameters::is_bound() const {
  size_t index = 0;
  for (const ParameterGroup& group : groups_) {
    for (const ParameterSlot& found : group.slots) {
      const at::Tensor& parameter = parameters_[index++];
      const bool has_value = parameter.data_ptr() == view_of(seen_values(group), found).data_ptr();
      const bool has_gradient =
          parameter.grad().defined() && parameter.grad().data_ptr() == view_of(seen_gradients(group), found).data_ptr();
      if (!has_value || !has_gradient) return false;
    }
  }
  return true;
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
