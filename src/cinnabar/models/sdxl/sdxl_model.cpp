#include "cinnabar/models/sdxl/sdxl_model.h"

#include <utility>

#include <ATen/ops/cat.h>

#include "cinnabar/base/error.h"
#include "cinnabar/models/sd/adapter_targets.h"
#include "cinnabar/models/sd/clip_captions.h"
#include "cinnabar/models/sd/clip_states.h"
#include "cinnabar/models/sd/open_clip_names.h"
#include "cinnabar/nn/timestep_embedding.h"

namespace cinnabar::models::sdxl {

namespace {

// The two tokenizers differ in padding alone. Weights are there for both encoders or for none.
Tokens joined(sd::ClipRows first, sd::ClipRows second, bool keeps_mean) {
  Tokens tokens{.ids = {std::move(first.ids), std::move(second.ids)}, .weights = {}, .keeps_mean = keeps_mean};
  if (first.weights.defined()) tokens.weights = {std::move(first.weights), std::move(second.weights)};
  return tokens;
}

at::Tensor rows_of(const at::Tensor& ids, nn::Module& encoder) {  // [B, N, T] -> [B * N, T]
  return ids.flatten(0, 1).to(sd::first_parameter(encoder).device());
}

}  // namespace

SdxlModel::SdxlModel(ModelInfo info, SdxlParts parts, const SdxlConfig& config)
    : UNetModel(std::move(info), std::move(parts.unet), std::move(parts.vae)),
      text1_(std::move(parts.text1)),
      text2_(std::move(parts.text2)),
      config_(config) {
  text1_->requires_grad(false);
  text2_->requires_grad(false);
}

Tokens SdxlModel::tokenize(const std::vector<std::string>& captions, const TextOptions& options) const {
  sd::require_clip_vocabulary(std::min(config_.text1.vocabulary, config_.text2.vocabulary));
  return joined(sd::caption_rows(captions, options, text::Padding::EndToken),
                sd::caption_rows(captions, options, text::Padding::ZeroPlain), false);
}

Tokens SdxlModel::tokenize_prompts(const std::vector<std::string>& prompts, const TextOptions& options) const {
  sd::require_clip_vocabulary(std::min(config_.text1.vocabulary, config_.text2.vocabulary));
  return joined(sd::prompt_rows(prompts, options, text::Padding::EndToken),
                sd::prompt_rows(prompts, options, text::Padding::ZeroPlain), true);
}

bool SdxlModel::uses(const AdapterTarget& target, const TextOptions& /*options*/) const {
  return target.part != "text_encoder" || sd::text_layer_of(target.name) < config_.text1_layers();
}

Conditioning SdxlModel::encode_text(const Tokens& tokens, const TextOptions& /*options*/) {
  nn::ClipText& first = text_encoder1();
  PooledClipText& second = text_encoder2();
  CINNABAR_ASSERT(tokens.ids.size() == 2 && tokens.ids[0].dim() == 3 && tokens.ids[0].sizes() == tokens.ids[1].sizes());
  const at::IntArrayRef batch = tokens.ids[0].sizes().slice(0, 2);  // B, N
  const int64_t layers = second.config().layers;
  const at::Tensor rows = rows_of(tokens.ids[1], second);

  at::Tensor states1 = first.state_after(rows_of(tokens.ids[0], first), config_.text1_layers()).unflatten(0, batch);
  at::Tensor states2 = second.state_after(rows, layers - 1).unflatten(0, batch);  // [B, N, T, D]
  // Only the first chunk is pooled.
  const at::Tensor last = second.final_norm(second.continued(states2.select(1, 0), layers - 1));
  const at::Tensor pooled =
      second.project(nn::pool_at_end(last, rows.unflatten(0, batch).select(1, 0), config_.end_token2));
  states1 = sd::join_chunks(states1);
  states2 = sd::join_chunks(states2);
  if (!tokens.weights.empty()) {
    states1 = sd::weighted(states1, tokens.weights[0], tokens.keeps_mean);
    states2 = sd::weighted(states2, tokens.weights[1], tokens.keeps_mean);
  }
  return {.context = at::cat({states1, states2}, 2), .pooled = pooled};
}

at::Tensor SdxlModel::size_embedding(const at::Tensor& sizes) const {
  return nn::timestep_embedding(sizes.flatten(), config_.size_width()).view({sizes.size(0), -1});
}

at::Tensor SdxlModel::predict(const at::Tensor& noisy, const at::Tensor& timesteps, const Conditioning& conditioning) {
  nn::UNet& net = unet();
  const at::Tensor x = sd::moved_to(noisy, net);
  const auto placed = [&](const at::Tensor& value) { return value.to(x.device(), x.scalar_type()); };
  at::Tensor vector = conditioning.vector;
  if (!vector.defined()) {
    CINNABAR_ASSERT(conditioning.pooled.defined() && conditioning.sizes.defined());
    vector = at::cat({placed(conditioning.pooled), placed(size_embedding(conditioning.sizes))}, 1);
  }
  return net.forward(x, timesteps.to(x.device()), placed(conditioning.context), placed(vector)).to(noisy.scalar_type());
}

std::vector<ModelPart> SdxlModel::parts() {
  std::vector<ModelPart> result;
  if (text1_) {
    need("text_encoder");
    result.push_back(
        {.name = "text_encoder", .adapter_prefix = "lora_te1", .module = text1_.get(), .file_prefix = kText1Prefix});
  }
  if (text2_) {
    need("text_encoder_2");
    result.push_back(
        {.name = "text_encoder_2", .adapter_prefix = "lora_te2", .module = text2_.get(), .file_prefix = kText2Prefix});
  }
  add_unet_part(result);
  return result;
}

void SdxlModel::each_part(const std::function<void(nn::Module&)>& visit) {
  if (text1_) visit(*text1_);
  if (text2_) visit(*text2_);
  UNetModel::each_part(visit);
}

std::vector<AdapterTarget> SdxlModel::adapter_targets() {
  std::vector<AdapterTarget> targets;
  if (text1_) sd::add_text_targets(targets, *text1_, "lora_te1", "text_encoder");
  if (text2_) sd::add_text_targets(targets, *text2_, "lora_te2", "text_encoder_2");
  if (maybe_unet() != nullptr) sd::add_unet_targets(targets, *maybe_unet(), sd::UNetNames::SingleFile);
  sd::sort_by_name(targets);
  return targets;
}

void SdxlModel::to_file_layout(NamedTensors& tensors) const { sd::to_open_clip(tensors, kText2Prefix); }

bool SdxlModel::release_text(const std::string& part) {
  if (part == "text") {
    text1_.reset();
    text2_.reset();
  } else if (part == "text_encoder") {
    text1_.reset();
  } else if (part == "text_encoder_2") {
    text2_.reset();
  } else {
    return false;
  }
  return true;
}

nn::ClipText& SdxlModel::text_encoder1() {
  sd::require_part(text1_.get(), "first text encoder");
  need("text_encoder");
  return *text1_;
}

PooledClipText& SdxlModel::text_encoder2() {
  sd::require_part(text2_.get(), "second text encoder");
  need("text_encoder_2");
  return *text2_;
}

}  // namespace cinnabar::models::sdxl
