// The base model of a run, on its device and in its precision.
#pragma once

#include <memory>
#include <string>

#include "cinnabar/base/events.h"
#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/schema/values.h"
#include "cinnabar/train/model_files.h"

namespace cinnabar::train {

struct LoadedModel {
  std::unique_ptr<models::DiffusionModel> model;
  std::string hash;      // SHA-256 of the model's file (of names and sizes for a folder): names it in cache keys
  std::string vae_hash;  // the same, with that of a separate autoencoder
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  bool is_vae_float = true;
  ModelFiles files{};
  std::string merged{};  // names what base_weights added to the weights: part of the keys of text caches
};

// Whether lowram acts: it is about the memory of the host, where models do not lie on other devices.
bool is_low_memory(const schema::Values& values, at::Device device);

// Reads pretrained_model_name_or_path ("embedded" for the program's own), vae, v_parameterization, mixed_precision,
// no_half_vae, lowram and device. All parts are frozen, and read when they are first used.
LoadedModel load_run_model(const schema::Values& values, base::EventSink& events);

struct WeightBytes {
  int64_t all = 0;     // of parts on the CPU that are loaded
  int64_t mapped = 0;  // of these, read from a mapped file
};
WeightBytes weight_bytes(const LoadedModel& base);

// When weights are read from a mapped file: throws Error{Io} when the file was changed since (ModelFiles::check).
void check_mapped_files(const LoadedModel& base);

// "" for float32, else "+bf16" or "+fp16": part of the keys of caches.
std::string precision_suffix(at::ScalarType dtype);

// Moments [B, 2 C, h, w] of pictures [B, 3, H, W], fp32. When an autoencoder in half precision gives something that is
// no number (SDXL's leaves the range of fp16), it is put into float32 for the rest of the run, with a warning.
at::Tensor encoded_moments(LoadedModel& base, const at::Tensor& pixels, base::EventSink& events);

}  // namespace cinnabar::train
