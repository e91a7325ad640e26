// Start values of the embedded model's autoencoder: a linear patch transform written into the weights, so that only the
// decoder has to be trained (docs/embedded_model.md).
#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "cinnabar/nn/module.h"

namespace cinnabar::embedded {

using Parameters = std::map<std::string, at::Tensor>;

Parameters parameters_of(nn::Module& module);

// Three levels, one resnet a level in the encoder and two in the decoder, 8 groups. The latents become a thumbnail of a
// quarter of the side (R, G, B) and one edge channel.
void write_linear_start(const Parameters& vae);

// Folds mean and deviation of the latents into the two 1x1 convolutions, so that 0.18215 * z has mean 0 and deviation 1
// in each channel. mean and deviation: [4], of the unscaled posterior means over the training pictures.
void fold_statistics(const Parameters& vae, const at::Tensor& mean, const at::Tensor& deviation);

}  // namespace cinnabar::embedded
