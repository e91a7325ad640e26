#include "cinnabar/models/sd/unet_model.h"

#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/models/sd/file_names.h"

namespace cinnabar::models::sd {

void require_part(const void* part, const std::string& name) {
  if (part == nullptr) {
    throw base::Error(base::ErrorCode::Internal, "the " + name + " was released, but is used again");
  }
}

at::Tensor first_parameter(nn::Module& module) {
  at::Tensor first;
  module.each_parameter("", [&](const std::string&, at::Tensor& value) {
    if (!first.defined() && at::isFloatingType(value.scalar_type())) first = value;
  });
  return first;
}

at::Tensor moved_to(const at::Tensor& x, nn::Module& module) {
  const at::Tensor like = first_parameter(module);
  return x.to(like.device(), like.scalar_type());
}

UNetModel::UNetModel(ModelInfo info, std::unique_ptr<nn::UNet> unet, std::unique_ptr<nn::AutoencoderKl> vae)
    : info_(std::move(info)), unet_(std::move(unet)), vae_(std::move(vae)) {
  info_.latent_channels = vae_->config().latent_channels;
  info_.downscale = vae_->downscale();
  unet_->requires_grad(false);
  vae_->requires_grad(false);
}

void UNetModel::fill_later(const std::string& part, std::function<void()> fill) { waiting_[part] = std::move(fill); }

void UNetModel::need(const std::string& part) {
  const auto found = waiting_.find(part);
  if (found == waiting_.end()) return;
  found->second();  // when it throws, the part goes on waiting
  waiting_.erase(found);
}

at::Tensor UNetModel::encode_moments(const at::Tensor& pixels) {
  require_part(vae_.get(), "autoencoder");
  need("vae");
  return vae_->encode(moved_to(pixels, *vae_));
}

at::Tensor UNetModel::decode(const at::Tensor& latents) {
  require_part(vae_.get(), "autoencoder");
  need("vae");
  return vae_->decode(moved_to(latents, *vae_));
}

void UNetModel::each_part(const std::function<void(nn::Module&)>& visit) {
  if (unet_ != nullptr) visit(*unet_);
}

void UNetModel::release(const std::string& part) {
  if (part == "vae") {
    vae_.reset();
  } else if (part == "unet") {
    unet_.reset();
  } else if (!release_text(part)) {
    throw base::Error(base::ErrorCode::Internal, "no part \"" + part + "\" to release: a text encoder, unet or vae");
  }
  std::erase_if(waiting_, [&](const auto& one) {
    return one.first == part || (part == "text" && one.first.starts_with("text_encoder"));
  });
}

nn::Module& UNetModel::vae() {
  require_part(vae_.get(), "autoencoder");
  need("vae");
  return *vae_;
}

std::optional<ModelPart> UNetModel::vae_part() {
  if (vae_ == nullptr) return std::nullopt;
  need("vae");
  return ModelPart{.name = "vae", .adapter_prefix = {}, .module = vae_.get(), .file_prefix = kVaePrefix};
}

nn::UNet* UNetModel::maybe_unet() {
  if (unet_ != nullptr) need("unet");
  return unet_.get();
}

nn::UNet& UNetModel::unet() {
  require_part(unet_.get(), "U-Net");
  need("unet");
  return *unet_;
}

void UNetModel::add_unet_part(std::vector<ModelPart>& parts) {
  if (maybe_unet() == nullptr) return;
  parts.push_back({.name = "unet", .adapter_prefix = "lora_unet", .module = unet_.get(), .file_prefix = kUNetPrefix});
}

}  // namespace cinnabar::models::sd
