// All trainable parameters of a run in a few contiguous buffers: step, norm, clipping, averaging and saving work on
// whole buffers (design.md 1.5).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace cinnabar::optim {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Where one parameter lies in its group's buffers, in elements.
struct ParameterSlot {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;
  int64_t count = 0;
};

struct ParameterGroup {
  std::string name;
  double lr = 0.0;       // base learning rate, before the schedule's factor
  at::Tensor values;     // fp32 [N]
  at::Tensor gradients;  // fp32 [N]
  std::vector<ParameterSlot> slots;
  // Where layers and backward work when the stored type is not fp32 (set_stored_type); undefined otherwise.
  at::Tensor stored_values{};     // [N]
  at::Tensor stored_gradients{};  // [N]
};

class FlatParameters {
 public:
  FlatParameters() = default;
  FlatParameters(const FlatParameters&) = delete;
  FlatParameters& operator=(const FlatParameters&) = delete;

  // Weights and gradients in fp16 or bf16 (full_fp16, full_bf16): layers see buffers of that type, and backward adds up
  // in it. `values` and `gradients` stay fp32 and hold what the narrow buffers hold: norm, clipping and optimizers are
  // written once. To be called before the first group.
  void set_stored_type(at::ScalarType type);
  // Narrow gradients to the fp32 buffer; before anything that looks at `gradients`. Nothing with fp32.
  void collect_gradients();
  // Rounds `values` to the stored type, which the layers see from then on; after everything that changes `values`.
  // Nothing with fp32.
  void store_values();

  // Copies the parameters into one fp32 buffer and makes each of them (all handles of that tensor) a view of it: a leaf
  // that requires gradients, with `.grad` a view of the gradient buffer, into which backward accumulates in place.
  // Names are unique over all groups. All parameters of a group are on one device. An empty group is left out.
  void add_group(const std::string& name, double lr, const NamedTensors& parameters);

  // Groups never change their buffers: tensors taken from here stay valid.
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  int64_t parameter_count() const;

  // Views by parameter name, shaped like the parameter. An unknown name is Error{Internal}.
  at::Tensor value(const std::string& name) const;
  at::Tensor gradient(const std::string& name) const;
  // All values in the order of adding, as views without gradient, for saving.
  NamedTensors values() const;

  void zero_gradients();
  // L2 norm over all gradients: 0-d fp32 on the first group's device. On the CPU it is summed in double over fixed
  // chunks and so does not depend on the number of threads.
  at::Tensor gradient_norm() const;
  // Scales all gradients by min(1, max_norm / (norm + 1e-6)) and returns the norm before. max_norm <= 0 only measures.
  // A norm that is not finite leaves the gradients as they are on the CPU: the caller must look at it before stepping.
  // Narrow stored types: the scaled gradients are rounded to it, as if they lay there.
  at::Tensor clip_gradients(double max_norm);
  // All gradients times `factor`, rounded as in clip_gradients.
  void scale_gradients(double factor);

  // True if every parameter still is a view of the buffers (a replaced `.grad` would silently stop training).
  bool is_bound() const;

 private:
  const ParameterSlot& slot(const std::string& name, const ParameterGroup*& group) const;

  void round_gradients();

  at::ScalarType stored_type_ = at::kFloat;
  std::vector<ParameterGroup> groups_;
  std::vector<at::Tensor> parameters_;  // in the order of groups and slots
};

}  // namespace cinnabar::optim
