// What the Stable Diffusion families have in common: a U-Net and a KL autoencoder; text is the family's own.
#pragma once

#include <functional>
#include <map>
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
  void each_part(const std::function<void(nn::Module&)>& visit) override;
  nn::Module& vae() override;
  std::optional<ModelPart> vae_part() override;

  // Error{Internal} once released.
  nn::UNet& unet();
  // What fills the part's parameters, to be called when it is first needed: "text_encoder", "unet", "vae".
  void fill_later(const std::string& part, std::function<void()> fill);

 protected:
  // Parts hold their weights already. Latent channels and downscale of `info` are filled in.
  UNetModel(ModelInfo info, std::unique_ptr<nn::UNet> unet, std::unique_ptr<nn::AutoencoderKl> vae);

  // Frees a text encoder by its name, or all as "text"; false when there is none of that name.
  virtual bool release_text(const std::string& part) = 0;
  // Null once released; its weights are there.
  nn::UNet* maybe_unet();
  // Fills a part that waits for it. To be called wherever weights may be looked at.
  void need(const std::string& part);
  void add_unet_part(std::vector<ModelPart>& parts);

 private:
  ModelInfo info_;
  std::unique_ptr<nn::UNet> unet_;
  std::unique_ptr<nn::AutoencoderKl> vae_;
  std::map<std::string, std::function<void()>> waiting_;  // by part
};

// Throws Error{Internal} for a part that was released.
void require_part(const void* part, const std::string& name);

at::Tensor first_parameter(nn::Module& module);
// To where the module computes, in its type.
at::Tensor moved_to(const at::Tensor& x, nn::Module& module);

}  // namespace cinnabar::models::sd
