// Stable Diffusion XL: two text encoders, a U-Net that also takes pooled text and picture sizes, a KL autoencoder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cinnabar/models/sd/unet_model.h"
#include "cinnabar/models/sdxl/pooled_clip_text.h"
#include "cinnabar/models/sdxl/sdxl_config.h"

namespace cinnabar::models::sdxl {

inline const std::string kText1Prefix = "conditioner.embedders.0.transformer.";
inline const std::string kText2Prefix = "conditioner.embedders.1.model.";

struct SdxlParts {
  std::unique_ptr<nn::ClipText> text1;
  std::unique_ptr<PooledClipText> text2;
  std::unique_ptr<nn::UNet> unet;
  std::unique_ptr<nn::AutoencoderKl> vae;
};

class SdxlModel : public sd::UNetModel {
 public:
  // Parts hold their weights already.
  SdxlModel(ModelInfo info, SdxlParts parts, const SdxlConfig& config);

  Tokens tokenize(const std::vector<std::string>& captions, const TextOptions& options) const override;
  Tokens tokenize_prompts(const std::vector<std::string>& prompts, const TextOptions& options) const override;
  bool uses(const AdapterTarget& target, const TextOptions& options) const override;
  // Context: both encoders' states side by side; pooled: of the second encoder, from the first chunk. clip_skip has no
  // meaning here.
  Conditioning encode_text(const Tokens& tokens, const TextOptions& options) override;
  // Takes conditioning.vector where it is defined, else makes it of `pooled` and `sizes`.
  at::Tensor predict(const at::Tensor& noisy, const at::Tensor& timesteps, const Conditioning& conditioning) override;
  std::vector<ModelPart> parts() override;
  void each_part(const std::function<void(nn::Module&)>& visit) override;
  std::vector<AdapterTarget> adapter_targets() override;
  void to_file_layout(NamedTensors& tensors) const override;

  // Error{Internal} once released.
  nn::ClipText& text_encoder1();
  PooledClipText& text_encoder2();
  const SdxlConfig& config() const { return config_; }
  // sizes [B, 6] -> sinusoids fp32 [B, 6 size_width()].
  at::Tensor size_embedding(const at::Tensor& sizes) const;

 protected:
  bool release_text(const std::string& part) override;

 private:
  std::unique_ptr<nn::ClipText> text1_;
  std::unique_ptr<PooledClipText> text2_;
  SdxlConfig config_;
};

}  // namespace cinnabar::models::sdxl
