#include "cinnabar/models/sd/clip_states.h"

#include <charconv>

#include <ATen/ops/cat.h>

namespace cinnabar::models::sd {

at::Tensor join_chunks(const at::Tensor& states) {
  const int64_t chunks = states.size(1);
  const int64_t length = states.size(2);
  if (chunks == 1) return states.squeeze(1);
  const at::Tensor bodies = states.slice(2, 1, length - 1).flatten(1, 2);  // [B, N (T - 2), D]
  const at::Tensor begin = states.select(1, 0).slice(1, 0, 1);
  const at::Tensor end = states.select(1, chunks - 1).slice(1, length - 1, length);
  return at::cat({begin, bodies, end}, 1);
}

at::Tensor weighted(const at::Tensor& context, const at::Tensor& weights, bool keeps_mean) {
  const at::Tensor factors = join_chunks(weights.unsqueeze(3)).to(context.device());  // [B, K, 1]
  const at::Tensor before = context.to(at::kFloat);                                   // fp32: the means
  at::Tensor states = before * factors;
  if (keeps_mean) states = states * (before.mean({1, 2}, true) / states.mean({1, 2}, true));
  return states.to(context.scalar_type());
}

int64_t text_layer_of(std::string_view adapter_name) {
  constexpr std::string_view kLayers = "encoder_layers_";
  const size_t at = adapter_name.find(kLayers);
  int64_t number = -1;
  if (at == std::string_view::npos) return number;
  const std::string_view digits = adapter_name.substr(at + kLayers.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace cinnabar::models::sd
