// The text encoder of CLIP (Radford et al. 2021) under transformers' names (text_model.encoder.layers.N...).
#pragma once

#include <memory>
#include <vector>

#include "cinnabar/nn/activation.h"
#include "cinnabar/nn/embedding.h"
#include "cinnabar/nn/layer.h"
#include "cinnabar/nn/norm.h"

namespace cinnabar::nn {

struct ClipTextConfig {
  int64_t vocabulary = 49408;
  int64_t positions = 77;
  int64_t width = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t feed_width = 3072;
  Activation activation = Activation::QuickGelu;
  double norm_epsilon = 1e-5;
};

class ClipTextLayer : public Module {
 public:
  explicit ClipTextLayer(const ClipTextConfig& config);
  at::Tensor forward(const at::Tensor& x) const;  // [B, T, D] -> the same; recomputed as one part when checkpointing

 private:
  at::Tensor inner_forward(const at::Tensor& x) const;

  int64_t heads_;
  Activation activation_;
  Linear k_;
  Linear v_;
  Linear q_;
  Linear out_;
  LayerNorm norm1_;
  Linear fc1_;
  Linear fc2_;
  LayerNorm norm2_;
};

class ClipText : public Module {
 public:
  explicit ClipText(const ClipTextConfig& config);

  // ids int64 [B, T], T at most config().positions -> the state after `layers` layers (0: embeddings), without the
  // final norm. Layers above are not computed.
  at::Tensor state_after(const at::Tensor& ids, int64_t layers) const;
  // The state after the last layer, from `state` after `layers` layers.
  at::Tensor continued(const at::Tensor& state, int64_t layers) const;
  // All states: embeddings, then after each layer; without the final norm.
  std::vector<at::Tensor> hidden_states(const at::Tensor& ids) const;
  at::Tensor final_norm(const at::Tensor& state) const { return final_norm_.forward(state); }
  const ClipTextConfig& config() const { return config_; }
  Embedding& token_embedding() { return tokens_; }

 private:
  at::Tensor embed(const at::Tensor& ids) const;

  ClipTextConfig config_;
  Embedding tokens_;
  Embedding positions_;
  std::vector<std::unique_ptr<ClipTextLayer>> layers_;
  LayerNorm final_norm_;
};

// state [B, T, D] at the first `end_token` of each row of ids [B, T] (position 0 where there is none) -> [B, D].
at::Tensor pool_at_end(const at::Tensor& state, const at::Tensor& ids, int64_t end_token);

}  // namespace cinnabar::nn
