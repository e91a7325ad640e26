// A model of the Stable Diffusion 1 and 2 families: one CLIP text encoder, a U-Net, a KL autoencoder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cinnabar/models/sd/config.h"
#include "cinnabar/models/sd/unet_model.h"
#include "cinnabar/text/clip_tokenizer.h"

namespace cinnabar::models::sd {

struct SdParts {
  std::unique_ptr<nn::ClipText> text;
  std::unique_ptr<nn::UNet> unet;
  std::unique_ptr<nn::AutoencoderKl> vae;
};

// How the family's text encoder is fed and stored.
struct SdText {
  int64_t end_token = 49407;
  text::Padding padding = text::Padding::EndToken;
  std::string file_prefix{};  // of its names in single files
  bool is_open_clip = false;  // single files have open_clip's names, and one layer more, which is not used
};

class SdModel : public UNetModel {
 public:
  // Parts hold their weights already.
  SdModel(ModelInfo info, SdParts parts, SdText text);

  Tokens tokenize(const std::vector<std::string>& captions, const TextOptions& options) const override;
  Tokens tokenize_prompts(const std::vector<std::string>& prompts, const TextOptions& options) const override;
  bool uses(const AdapterTarget& target, const TextOptions& options) const override;
  Conditioning encode_text(const Tokens& tokens, const TextOptions& options) override;
  at::Tensor predict(const at::Tensor& noisy, const at::Tensor& timesteps, const Conditioning& conditioning) override;
  std::vector<ModelPart> parts() override;
  void each_part(const std::function<void(nn::Module&)>& visit) override;
  std::vector<AdapterTarget> adapter_targets() override;
  void to_file_layout(NamedTensors& tensors) const override;

  // For parity checks and for textual inversion. Error{Internal} once released.
  nn::ClipText& text_encoder();
  int64_t end_token() const { return how_.end_token; }

 protected:
  bool release_text(const std::string& part) override;

 private:
  const nn::ClipText& text() const;

  std::unique_ptr<nn::ClipText> text_;
  SdText how_;
};

}  // namespace cinnabar::models::sd
