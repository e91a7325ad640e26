#include "cinnabar/models/other_files.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cinnabar::models {

namespace {

bool has_part(const formats::Checkpoint& checkpoint, std::string_view part) {
  return std::ranges::any_of(checkpoint.tensors(),
                             [&](const auto& entry) { return entry.first.find(part) != std::string::npos; });
}

bool has_any(const formats::Checkpoint& checkpoint, std::initializer_list<const char*> prefixes) {
  return std::ranges::any_of(prefixes, [&](const char* prefix) { return checkpoint.has_prefix(prefix); });
}

bool is_adapter(const formats::Checkpoint& checkpoint) {
  constexpr std::array<std::string_view, 9> kParts{".lora_down.", ".lora_up.",   ".lora_A.",  ".lora_B.",   ".hada_w1_",
                                                   ".lokr_w",     ".oft_blocks", ".oft_diag", ".lora.down."};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return has_part(checkpoint, part); });
}

bool is_embedding(const formats::Checkpoint& checkpoint) {
  return checkpoint.find("emb_params") != nullptr || checkpoint.has_prefix("string_to_param") ||
         (checkpoint.find("clip_g") != nullptr && checkpoint.tensors().size() <= 2);
}

}  // namespace

std::string describe_other_file(const formats::Checkpoint& checkpoint) {
  if (checkpoint.tensors().empty()) return "the file holds no tensors";
  if (is_adapter(checkpoint)) {
    return "this is a LoRA or another adapter, not a base model: name the base model here, and the adapter with "
           "network_weights (training) or lora (pictures)";
  }
  if (is_embedding(checkpoint)) return "this is a textual inversion embedding, not a base model";
  if (has_any(checkpoint, {"control_model.", "controlnet_"})) return "this is a ControlNet, not a base model";
  const bool has_unet = has_any(checkpoint, {"model.diffusion_model.", "unet."});
  const bool has_text = has_any(checkpoint, {"cond_stage_model.", "conditioner.", "text_encoder"});
  if (has_unet && checkpoint.has_prefix("conditioner.embedders.0.model.")) {
    return "this is the SDXL refiner, which is not supported: use the SDXL base model";
  }
  if (has_unet && !has_text) {
    return "the file has a denoiser, but no text encoder: a complete checkpoint or a diffusers folder is needed";
  }
  if (!has_unet && has_any(checkpoint, {"first_stage_model.", "encoder.down", "decoder.up", "vae."}) && !has_text) {
    return "this is a VAE, not a base model: name the base model here, and the VAE with vae";
  }
  if (!has_unet && has_any(checkpoint, {"text_model.", "encoder.block.", "transformer.resblocks."})) {
    return "this is a text encoder, not a base model";
  }
  if (has_any(checkpoint, {"input_blocks.", "down_blocks."})) {
    return "this is a U-Net alone, without text encoder and VAE: a complete checkpoint or a diffusers folder is needed";
  }
  return {};
}

}  // namespace cinnabar::models
