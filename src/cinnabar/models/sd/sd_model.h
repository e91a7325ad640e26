// A model of the SD 1 layout: one CLIP text encoder, a U-Net, a KL autoencoder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/models/sd/config.h"

namespace cinnabar::models::sd {

struct SdParts {
  std::unique_ptr<nn::ClipText> text;
  std::unique_ptr<nn::UNet> unet;
  std::unique_ptr<nn::AutoencoderKl> vae;
};

class SdModel : public DiffusionModel {
 public:
  // Parts hold their weights already.
  SdModel(ModelInfo info, SdParts parts, int64_t end_token);

  const ModelInfo& info() const override { return info_; }
  Tokens tokenize(const std::vector<std::string>& captions, const TextOptions& options) const override;
  Tokens tokenize_prompts(const std::vector<std::string>& prompts, const TextOptions& options) const override;
  bool uses(const AdapterTarget& target, const TextOptions& options) const override;
  Conditioning encode_text(const Tokens& tokens, const TextOptions& options) override;
  at::Tensor encode_moments(const at::Tensor& pixels) override;
  at::Tensor decode(const at::Tensor& latents) override;
  at::Tensor predict(const at::Tensor& noisy, const at::Tensor& timesteps, const Conditioning& conditioning) override;
  std::vector<ModelPart> parts() override;
  std::vector<AdapterTarget> adapter_targets() override;
  void release(const std::string& part) override;
  nn::Module& vae() override;
  std::optional<ModelPart> vae_part() override;

  // For parity checks and for textual inversion. Error{Internal} once released.
  nn::ClipText& text_encoder();
  nn::UNet& unet();
  int64_t end_token() const { return end_token_; }

 private:
  ModelInfo info_;
  SdParts parts_;
  int64_t end_token_;
};

// The layers below the text encoder and the U-Net that adapters attach to, with kohya's names (diffusers module paths),
// in the order of adapter files: by name. Both may be null.
std::vector<AdapterTarget> sd_adapter_targets(nn::ClipText* text, nn::UNet* unet);

}  // namespace cinnabar::models::sd
