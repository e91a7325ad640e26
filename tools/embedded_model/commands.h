// The commands of cinnabar-embedded-model.
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar::embedded {

// Linear start, fold and decoder training; writes a whole model whose U-Net and text encoder are still random.
int train_decoder(const std::string& data, const std::string& out, int64_t steps);
// U-Net and text encoder on the captioned pictures, with the autoencoder of `vae`.
int train_unet(const std::string& data, const std::string& vae, const std::string& out, int64_t steps);
// Joins the autoencoder of one file with the rest of another and writes fp16.
int join(const std::string& vae, const std::string& rest, const std::string& out);

}  // namespace cinnabar::embedded
