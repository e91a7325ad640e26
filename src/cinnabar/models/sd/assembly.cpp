#include "cinnabar/models/sd/assembly.h"

#include <utility>

#include "cinnabar/models/sd/file_names.h"

namespace cinnabar::models::sd {

SdParts make_parts(const SdConfig& config) {
  return {.text = std::make_unique<nn::ClipText>(config.text),
          .unet = std::make_unique<nn::UNet>(config.unet),
          .vae = std::make_unique<nn::AutoencoderKl>(config.vae)};
}

std::unique_ptr<DiffusionModel> assemble(const formats::Checkpoint& checkpoint, const NamedViews& views,
                                         const VaeSource& vae, const SdConfig& config, ModelInfo info, SdText text,
                                         const LoadOptions& options) {
  SdParts parts = make_parts(config);
  PartFills fills =
      check_parts(checkpoint, views,
                  {{"text_encoder", {.module = parts.text.get(), .prefix = text.file_prefix, .dtype = options.dtype}},
                   {"unet", {.module = parts.unet.get(), .prefix = kUNetPrefix, .dtype = options.dtype}}},
                  options);
  vae.check(*parts.vae);
  fills.emplace_back("vae", vae.fill(*parts.vae, options));
  auto model = std::make_unique<SdModel>(std::move(info), std::move(parts), std::move(text));
  fill_parts(*model, std::move(fills), options);
  checkpoint.check();
  return model;
}

}  // namespace cinnabar::models::sd
