#include "cinnabar/models/sd/sd_model.h"

#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/models/sd/adapter_targets.h"
#include "cinnabar/models/sd/clip_captions.h"
#include "cinnabar/models/sd/clip_states.h"
#include "cinnabar/models/sd/open_clip_names.h"

namespace cinnabar::models::sd {

namespace {

Tokens tokens_of(ClipRows rows, bool keeps_mean) {
  Tokens result{.ids = {std::move(rows.ids)}, .weights = {}, .keeps_mean = keeps_mean};
  if (rows.weights.defined()) result.weights.push_back(std::move(rows.weights));
  return result;
}

}  // namespace

SdModel::SdModel(ModelInfo info, SdParts parts, SdText text)
    : UNetModel(std::move(info), std::move(parts.unet), std::move(parts.vae)),
      text_(std::move(parts.text)),
      how_(std::move(text)) {
  text_->requires_grad(false);
}

Tokens SdModel::tokenize(const std::vector<std::string>& captions, const TextOptions& options) const {
  require_clip_vocabulary(text().config().vocabulary);
  return tokens_of(caption_rows(captions, options, how_.padding), false);
}

Tokens SdModel::tokenize_prompts(const std::vector<std::string>& prompts, const TextOptions& options) const {
  require_clip_vocabulary(text().config().vocabulary);
  return tokens_of(prompt_rows(prompts, options, how_.padding), true);
}

bool SdModel::uses(const AdapterTarget& target, const TextOptions& options) const {
  if (target.part != "text_encoder" || options.clip_skip <= 1) return true;
  return text_layer_of(target.name) <= text().config().layers - options.clip_skip;
}

Conditioning SdModel::encode_text(const Tokens& tokens, const TextOptions& options) {
  nn::ClipText& text = text_encoder();
  CINNABAR_ASSERT(tokens.ids.size() == 1 && tokens.ids[0].dim() == 3);
  const at::Tensor& ids = tokens.ids[0];                                         // [B, N, T]
  const at::Tensor rows = ids.flatten(0, 1).to(first_parameter(text).device());  // [B * N, T]
  const int64_t skipped = options.clip_skip > 1 ? options.clip_skip - 1 : 0;
  if (skipped > text.config().layers) {
    throw base::Error(base::ErrorCode::Config, "clip_skip = " + std::to_string(options.clip_skip) +
                                                   ": the text encoder has " + std::to_string(text.config().layers) +
                                                   " layers");
  }
  const at::Tensor state = text.final_norm(text.state_after(rows, text.config().layers - skipped));
  const at::Tensor context = join_chunks(state.unflatten(0, {ids.size(0), ids.size(1)}));
  if (tokens.weights.empty()) return {.context = context};
  return {.context = weighted(context, tokens.weights[0], tokens.keeps_mean)};
}

at::Tensor SdModel::predict(const at::Tensor& noisy, const at::Tensor& timesteps, const Conditioning& conditioning) {
  nn::UNet& net = unet();
  const at::Tensor x = moved_to(noisy, net);
  const at::Tensor context = conditioning.context.to(x.device(), x.scalar_type());
  return net.forward(x, timesteps.to(x.device()), context).to(noisy.scalar_type());
}

std::vector<ModelPart> SdModel::parts() {
  std::vector<ModelPart> result;
  if (text_) {
    need("text_encoder");
    result.push_back(
        {.name = "text_encoder", .adapter_prefix = "lora_te", .module = text_.get(), .file_prefix = how_.file_prefix});
  }
  add_unet_part(result);
  return result;
}

void SdModel::each_part(const std::function<void(nn::Module&)>& visit) {
  if (text_) visit(*text_);
  UNetModel::each_part(visit);
}

std::vector<AdapterTarget> SdModel::adapter_targets() {
  std::vector<AdapterTarget> targets;
  if (text_) add_text_targets(targets, *text_, "lora_te", "text_encoder");
  if (maybe_unet() != nullptr) add_unet_targets(targets, *maybe_unet(), UNetNames::Diffusers);
  sort_by_name(targets);
  return targets;
}

void SdModel::to_file_layout(NamedTensors& tensors) const {
  if (!how_.is_open_clip) return;
  to_open_clip(tensors, how_.file_prefix);
  add_unused_layer(tensors, how_.file_prefix);
}

bool SdModel::release_text(const std::string& part) {
  if (part != "text_encoder" && part != "text") return false;
  text_.reset();
  return true;
}

const nn::ClipText& SdModel::text() const {
  require_part(text_.get(), "text encoder");
  return *text_;
}

nn::ClipText& SdModel::text_encoder() {
  require_part(text_.get(), "text encoder");
  need("text_encoder");
  return *text_;
}

}  // namespace cinnabar::models::sd
