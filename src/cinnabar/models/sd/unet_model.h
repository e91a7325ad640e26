// What the Stable Diffusion families have in common: a U-Net and a KL autoencoder; text is the family's own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/nn/autoencoder_kl.h"
#include "cinnabar/nn/clip_text.h"
#include "cinnabar/nn/unet.h"

namespace cinnabar::models::sd {

class UNetModel : public DiffusionModel {
 public:
  const ModelInfo& info() const override { return info_; }
  at::Tensor encode_moments(const at::Tensor& pixels) override;
  at::Tensor decode(const at::Tensor& latents) override;
  void release(const std::string& part) override;
  nn::Module& vae() override;
  std::optional<ModelPart> vae_part() override;

  // Error{Internal} once released.
  nn::UNet& unet();

 protected:
  // Parts hold their weights already. Latent channels and downscale of `info` are filled in.
  UNetModel(ModelInfo info, std::unique_ptr<nn::UNet> unet, std::unique_ptr<nn::AutoencoderKl> vae);

  // Frees a text encoder by its name; false when there is none of that name.
  virtual bool release_text(const std::string& part) = 0;
  nn::UNet* maybe_unet() { return unet_.get(); }
  void add_unet_part(std::vector<ModelPart>& parts);

 private:
  ModelInfo info_;
  std::unique_ptr<nn::UNet> unet_;
  std::unique_ptr<nn::AutoencoderKl> vae_;
};

// Throws Error{Internal} for a part that was released.
void require_part(const void* part, const std::string& name);

at::Tensor first_parameter(nn::Module& module);
// To where the module computes, in its type.
at::Tensor moved_to(const at::Tensor& x, nn::Module& module);

}  // namespace cinnabar::models::sd
