// The tensors and settings of one golden: NAME.safetensors with NAME.json beside it.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::parity {

class GoldenTensors {
 public:
  // Throws Error{Io} or Error{Format}.
  explicit GoldenTensors(const std::filesystem::path& safetensors);

  bool has(const std::string& name) const { return checkpoint_->find(name) != nullptr; }
  // A copy on the CPU in the file's type. A missing name is Error{Format}.
  at::Tensor at(const std::string& name) const;
  const formats::Checkpoint& checkpoint() const { return *checkpoint_; }

 private:
  std::unique_ptr<formats::Checkpoint> checkpoint_;
};

// Infinities become the largest double. Throws Error{Io}; nlohmann's exception for text that is no JSON.
nlohmann::json read_json(const std::filesystem::path& path);

// Largest absolute difference, in double; infinite for other shapes or a NaN on one side.
double largest_difference(const at::Tensor& a, const at::Tensor& b);
// The same, divided by the largest absolute element of `expected`, but at least by `floor`.
double relative_difference(const at::Tensor& found, const at::Tensor& expected, double floor = 1e-30);
// Floor for gradients compared relative to each tensor's largest entry: a thousandth of the largest entry of all. Where
// the exact gradient is 0 (attention over a single position), what is left is the rounding of larger terms.
double gradient_floor(const std::vector<at::Tensor>& expected);
// `value` in the shape of `like` where only sides of 1 make the difference, else as it is.
at::Tensor without_unit_sides(const at::Tensor& value, const at::Tensor& like);
// Largest |found - expected| / |expected| over the elements; an expected 0 must be found exactly.
double largest_element_ratio(const at::Tensor& found, const at::Tensor& expected);

}  // namespace cinnabar::parity
