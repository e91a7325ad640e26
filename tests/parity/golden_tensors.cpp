#include "parity/golden_tensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/formats/safetensors_reader.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::parity {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest(const at::Tensor& values) {
  if (values.numel() == 0) return 0.0;
  const double result = values.abs().max().item<double>();  // NaN wins in max()
  return std::isnan(result) ? kInfinity : result;
}

}  // namespace

GoldenTensors::GoldenTensors(const std::filesystem::path& safetensors)
    : checkpoint_(formats::open_safetensors(safetensors)) {}

at::Tensor GoldenTensors::at(const std::string& name) const { return tensor::copy(checkpoint_->at(name)); }

nlohmann::json read_json(const std::filesystem::path& path) {
  std::string text = base::read_file(path);
  // Python writes infinities, which JSON does not know.
  const std::string infinity = "Infinity";
  for (size_t at = text.find(infinity); at != std::string::npos; at = text.find(infinity, at)) {
    text.replace(at, infinity.size(), "1.7976931348623157e308");
  }
  return nlohmann::json::parse(text);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return kInfinity;
  return largest(a.to(at::kDouble) - b.to(at::kDouble));
}

double relative_difference(const at::Tensor& found, const at::Tensor& expected, double floor) {
  return largest_difference(found, expected) / std::max(largest(expected.to(at::kDouble)), floor);
}

double gradient_floor(const std::vector<at::Tensor>& expected) {
  double result = 1e-30;
  for (const at::Tensor& tensor : expected) result = std::max(result, 1e-3 * largest(tensor));
  return result;
}

at::Tensor without_unit_sides(const at::Tensor& value, const at::Tensor& like) {
  return value.squeeze().sizes() == like.squeeze().sizes() ? value.reshape(like.sizes()) : value;
}

double largest_element_ratio(const at::Tensor& found, const at::Tensor& expected) {
  if (found.sizes() != expected.sizes()) return kInfinity;
  const at::Tensor difference = (found.to(at::kDouble) - expected.to(at::kDouble)).abs();
  return largest(at::where(difference == 0, at::zeros_like(difference), difference / expected.to(at::kDouble).abs()));
}

}  // namespace cinnabar::parity
