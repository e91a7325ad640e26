#include "cinnabar/models/sd/sd_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "cinnabar/base/error.h"
#include "cinnabar/models/sd/file_names.h"
#include "cinnabar/text/clip_tokenizer.h"
#include "cinnabar/text/weighted_prompt.h"

namespace cinnabar::models::sd {

namespace {

template <class Part>
Part& required(const std::unique_ptr<Part>& part, const std::string& name) {
  if (part == nullptr) {
    throw base::Error(base::ErrorCode::Internal, "the " + name + " was released, but is used again");
  }
  return *part;
}

at::Tensor first_parameter(nn::Module& module) {
  at::Tensor first;
  module.each_parameter("", [&](const std::string&, at::Tensor& value) {
    if (!first.defined() && at::isFloatingType(value.scalar_type())) first = value;
  });
  return first;
}

// To where the module computes, in its type.
at::Tensor moved_to(const at::Tensor& x, nn::Module& module) {
  const at::Tensor like = first_parameter(module);
  return x.to(like.device(), like.scalar_type());
}

// Encoded chunks [B, N, T, D] as one context: the begin state of the first chunk, the states between begin and end of
// every chunk, the end state of the last one: [B, N (T - 2) + 2, D].
at::Tensor join_chunks(const at::Tensor& states) {
  const int64_t chunks = states.size(1);
  const int64_t length = states.size(2);
  if (chunks == 1) return states.squeeze(1);
  const at::Tensor bodies = states.slice(2, 1, length - 1).flatten(1, 2);  // [B, N (T - 2), D]
  const at::Tensor begin = states.select(1, 0).slice(1, 0, 1);
  const at::Tensor end = states.select(1, chunks - 1).slice(1, length - 1, length);
  return at::cat({begin, bodies, end}, 1);
}

constexpr int64_t kMostPromptChunks = 3;  // as the reference's pictures

void require_clip_vocabulary(const nn::ClipTextConfig& config) {
  if (config.vocabulary > text::ClipTokenizer::kEnd) return;
  throw base::Error(base::ErrorCode::Config, "the text encoder knows " + std::to_string(config.vocabulary) +
                                                 " tokens, but captions need CLIP's 49408: use another model");
}

// States times the weights of their tokens, then scaled to the mean that each prompt's states had: without it a weight
// would change how strongly the whole prompt acts. context [B, T, D], weights [B, T]. fp32: the means.
at::Tensor weighted(const at::Tensor& context, const at::Tensor& weights) {
  const at::Tensor before = context.to(at::kFloat).mean({1, 2}, true);
  const at::Tensor states = context.to(at::kFloat) * weights.to(context.device()).unsqueeze(2);
  return (states * (before / states.mean({1, 2}, true))).to(context.scalar_type());
}

}  // namespace

SdModel::SdModel(ModelInfo info, SdParts parts, int64_t end_token)
    : info_(std::move(info)), parts_(std::move(parts)), end_token_(end_token) {
  info_.latent_channels = parts_.vae->config().latent_channels;
  info_.downscale = parts_.vae->downscale();
  for (nn::Module* part : {static_cast<nn::Module*>(parts_.text.get()), static_cast<nn::Module*>(parts_.unet.get()),
                           static_cast<nn::Module*>(parts_.vae.get())}) {
    part->requires_grad(false);
  }
}

Tokens SdModel::tokenize(const std::vector<std::string>& captions, const TextOptions& options) const {
  require_clip_vocabulary(required(parts_.text, "text encoder").config());
  const auto& tokenizer = text::ClipTokenizer::shared();
  std::vector<int64_t> ids;
  int64_t length = 0;
  for (const std::string& caption : captions) {
    for (const auto& chunk : tokenizer.encode_chunks(caption, options.max_token_length, text::Padding::EndToken)) {
      length = static_cast<int64_t>(chunk.size());
      ids.insert(ids.end(), chunk.begin(), chunk.end());
    }
  }
  const auto rows = static_cast<int64_t>(captions.size());
  at::Tensor tensor = at::empty({static_cast<int64_t>(ids.size())}, at::TensorOptions().dtype(at::kLong));
  std::copy(ids.begin(), ids.end(), tensor.mutable_data_ptr<int64_t>());
  return {.ids = {rows == 0 ? tensor.view({0, 0, 0}) : tensor.view({rows, -1, length})}};
}

Tokens SdModel::tokenize_prompts(const std::vector<std::string>& prompts, const TextOptions& options) const {
  require_clip_vocabulary(required(parts_.text, "text encoder").config());
  const auto& tokenizer = text::ClipTokenizer::shared();
  int64_t length = text::text_length(options.max_token_length);
  for (const std::string& prompt : prompts) {
    const size_t tokens = text::encode_weighted(tokenizer, prompt, text::Padding::EndToken).size();
    length = std::max(length, text::max_token_length_for(tokens, kMostPromptChunks));
  }
  const auto rows = static_cast<int64_t>(prompts.size());
  const int64_t chunks = length / text::ClipTokenizer::kChunk;
  const std::vector<int64_t> shape{rows, chunks, text::ClipTokenizer::kRowLength};
  Tokens result{.ids = {at::empty(shape, at::TensorOptions().dtype(at::kLong))},
                .weights = {at::empty(shape, at::TensorOptions().dtype(at::kFloat))}};
  int64_t* id = result.ids[0].mutable_data_ptr<int64_t>();
  float* weight = result.weights[0].mutable_data_ptr<float>();
  bool is_plain = true;
  for (const std::string& prompt : prompts) {
    const auto encoded = text::encode_weighted_chunks(tokenizer, prompt, length, text::Padding::EndToken);
    for (const auto& row : encoded.ids) id = std::copy(row.begin(), row.end(), id);
    for (const auto& row : encoded.weights) {
      for (const double value : row) {
        *weight++ = static_cast<float>(value);
        is_plain = is_plain && value == 1.0;
      }
    }
  }
  if (is_plain) result.weights.clear();
  return result;
}

bool SdModel::uses(const AdapterTarget& target, const TextOptions& options) const {
  if (target.part != "text_encoder" || options.clip_skip <= 1) return true;
  constexpr std::string_view kLayers = "encoder_layers_";
  const size_t at = target.name.find(kLayers);
  if (at == std::string::npos) return true;
  const int64_t layers = required(parts_.text, "text encoder").config().layers;
  return std::stoll(target.name.substr(at + kLayers.size())) <= layers - options.clip_skip;
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
  return {.context = weighted(context, join_chunks(tokens.weights[0].unsqueeze(3)).squeeze(2))};
}

at::Tensor SdModel::encode_moments(const at::Tensor& pixels) {
  nn::AutoencoderKl& vae = required(parts_.vae, "autoencoder");
  return vae.encode(moved_to(pixels, vae));
}

at::Tensor SdModel::decode(const at::Tensor& latents) {
  nn::AutoencoderKl& vae = required(parts_.vae, "autoencoder");
  return vae.decode(moved_to(latents, vae));
}

at::Tensor SdModel::predict(const at::Tensor& noisy, const at::Tensor& timesteps, const Conditioning& conditioning) {
  nn::UNet& net = unet();
  const at::Tensor x = moved_to(noisy, net);
  const at::Tensor context = conditioning.context.to(x.device(), x.scalar_type());
  return net.forward(x, timesteps.to(x.device()), context).to(noisy.scalar_type());
}

std::vector<ModelPart> SdModel::parts() {
  std::vector<ModelPart> result;
  if (parts_.text) {
    result.push_back(
        {.name = "text_encoder", .adapter_prefix = "lora_te", .module = parts_.text.get(), .file_prefix = kTextPrefix});
  }
  if (parts_.unet) {
    result.push_back(
        {.name = "unet", .adapter_prefix = "lora_unet", .module = parts_.unet.get(), .file_prefix = kUNetPrefix});
  }
  return result;
}

std::vector<AdapterTarget> SdModel::adapter_targets() {
  return sd_adapter_targets(parts_.text.get(), parts_.unet.get());
}

void SdModel::release(const std::string& part) {
  if (part == "vae") {
    parts_.vae.reset();
  } else if (part == "text_encoder") {
    parts_.text.reset();
  } else if (part == "unet") {
    parts_.unet.reset();
  } else {
    throw base::Error(base::ErrorCode::Internal, "no part \"" + part + "\" to release: text_encoder, unet or vae");
  }
}

nn::Module& SdModel::vae() { return required(parts_.vae, "autoencoder"); }

std::optional<ModelPart> SdModel::vae_part() {
  if (parts_.vae == nullptr) return std::nullopt;
  return ModelPart{.name = "vae", .adapter_prefix = {}, .module = parts_.vae.get(), .file_prefix = kVaePrefix};
}

nn::ClipText& SdModel::text_encoder() { return required(parts_.text, "text encoder"); }
nn::UNet& SdModel::unet() { return required(parts_.unet, "U-Net"); }

}  // namespace cinnabar::models::sd
