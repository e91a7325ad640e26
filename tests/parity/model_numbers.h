// What the parity checks of all model families share: named tensors, comparisons, gradients by the names of files.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cinnabar/models/diffusion_model.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

using Tensors = std::map<std::string, at::Tensor>;

Tensors read_tensors(const std::filesystem::path& path);
// What follows `prefix` in the names that have it.
std::vector<std::string> endings(const Tensors& tensors, const std::string& prefix);
// goldens/models/README.md: forward passes absolute.
void compare_forward(Reporter& reporter, const std::string& name, const at::Tensor& found, const at::Tensor& expected);

void check_vae(const std::string& model_name, models::DiffusionModel& model, const Tensors& io, Reporter& reporter);

// Puts parameters into the state for a backward pass: no gradients yet, training mode.
void prepare_training(models::DiffusionModel& model, bool is_checkpointing);
// The gradients of "grad.NAME" in `io`, relative to each tensor's largest entry.
void check_gradients(const std::string& model_name, models::DiffusionModel& model, const Tensors& io,
                     const std::string& suffix, Reporter& reporter);

// SDXL: both encoders, pooled text, size embedding, autoencoder, U-Net, gradients.
void check_sdxl(const std::filesystem::path& folder, const std::string& name, Reporter& reporter);

}  // namespace cinnabar::parity
