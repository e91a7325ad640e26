#include "cinnabar/nn/clip_text.h"

#include <string>

#include <ATen/ops/arange.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/attention.h"
#include "cinnabar/nn/checkpointing.h"

namespace cinnabar::nn {

ClipTextLayer::ClipTextLayer(const ClipTextConfig& config)
    : heads_(config.heads),
      activation_(config.activation),
      k_(config.width, config.width),
      v_(config.width, config.width),
      q_(config.width, config.width),
      out_(config.width, config.width),
      norm1_(config.width, config.norm_epsilon),
      fc1_(config.width, config.feed_width),
      fc2_(config.feed_width, config.width),
      norm2_(config.width, config.norm_epsilon) {
  add("self_attn.k_proj", k_);
  add("self_attn.v_proj", v_);
  add("self_attn.q_proj", q_);
  add("self_attn.out_proj", out_);
  add("layer_norm1", norm1_);
  add("mlp.fc1", fc1_);
  add("mlp.fc2", fc2_);
  add("layer_norm2", norm2_);
}

at::Tensor ClipTextLayer::forward(const at::Tensor& x) const {
  return run_segment(is_training() && checkpointing(),
                     [this](const std::vector<at::Tensor>& inputs) { return inner_forward(inputs[0]); }, {x});
}

at::Tensor ClipTextLayer::inner_forward(const at::Tensor& x) const {
  const at::Tensor normed = norm1_.forward(x);
  const at::Tensor mixed = attention(q_.forward(normed), k_.forward(normed), v_.forward(normed), heads_,
                                     /*is_causal=*/true);
  const at::Tensor h = x + out_.forward(mixed);
  return h + fc2_.forward(activate(activation_, fc1_.forward(norm2_.forward(h))));
}

ClipText::ClipText(const ClipTextConfig& config)
    : config_(config),
      tokens_(config.vocabulary, config.width, 0.05),
      positions_(config.positions, config.width, 0.02),
      final_norm_(config.width, config.norm_epsilon) {
  if (config.heads <= 0 || config.width % config.heads != 0) {
    throw base::Error(base::ErrorCode::Format,
                      "text encoder of width " + std::to_string(config.width) + " with " +
                          std::to_string(config.heads) +
                          " heads: the width must be a multiple of the heads. State num_heads in "
                          "a NAME.json beside the checkpoint");
  }
  add("text_model.embeddings.token_embedding", tokens_);
  add("text_model.embeddings.position_embedding", positions_);
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(std::make_unique<ClipTextLayer>(config));
    add("text_model.encoder.layers." + std::to_string(i), *layers_.back());
  }
  add("text_model.final_layer_norm", final_norm_);
}

at::Tensor ClipText::embed(const at::Tensor& ids) const {
  CINNABAR_ASSERT(ids.dim() == 2 && ids.size(1) <= config_.positions);
  const at::Tensor places = at::arange(ids.size(1), at::TensorOptions().dtype(at::kLong).device(ids.device()));
  return tokens_.forward(ids) + positions_.forward(places).unsqueeze(0);  // [B, T, D]
}

at::Tensor ClipText::state_after(const at::Tensor& ids, int64_t layers) const {
  CINNABAR_ASSERT(layers >= 0 && layers <= config_.layers);
  at::Tensor state = embed(ids);
  for (int64_t i = 0; i < layers; ++i) state = layers_[static_cast<size_t>(i)]->forward(state);
  return state;
}

at::Tensor ClipText::continued(const at::Tensor& state, int64_t layers) const {
  at::Tensor last = state;
  for (size_t i = static_cast<size_t>(layers); i < layers_.size(); ++i) last = layers_[i]->forward(last);
  return last;
}

std::vector<at::Tensor> ClipText::hidden_states(const at::Tensor& ids) const {
  std::vector<at::Tensor> states{embed(ids)};
  for (const auto& layer : layers_) states.push_back(layer->forward(states.back()));
  return states;
}

at::Tensor pool_at_end(const at::Tensor& state, const at::Tensor& ids, int64_t end_token) {
  const at::Tensor places = ids.eq(end_token).to(at::kInt).argmax(1);  // [B]: the first of equal values
  const at::Tensor rows = at::arange(ids.size(0), at::TensorOptions().dtype(at::kLong).device(ids.device()));
  return state.index({rows, places});
}

}  // namespace cinnabar::nn
