// States of a CLIP text encoder as the U-Net's context: chunks joined, words weighted.
#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>

#include "cinnabar/models/diffusion_model.h"

namespace cinnabar::models::sd {

// Encoded chunks [B, N, T, D] as one context: the begin state of the first chunk, the states between begin and end of
// every chunk, the end state of the last one: [B, N (T - 2) + 2, D].
at::Tensor join_chunks(const at::Tensor& states);

// context [B, N (T - 2) + 2, D] times the weights [B, N, T] of its tokens. With `keeps_mean` each text is then scaled
// to the mean that its states had: without it a weight changes how strongly the whole text acts. Pictures keep the
// mean, training does not (sd-scripts).
at::Tensor weighted(const at::Tensor& context, const at::Tensor& weights, bool keeps_mean);

// Number of the layer in "lora_te_text_model_encoder_layers_3_mlp_fc1"; -1 for other names.
int64_t text_layer_of(std::string_view adapter_name);

}  // namespace cinnabar::models::sd
