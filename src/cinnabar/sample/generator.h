// Pictures from prompts: text states, noise, the sampler's steps with guidance, and the autoencoder.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/data/picture.h"
#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/sample/request.h"
#include "cinnabar/samplers/sampler.h"

namespace cinnabar::sample {

struct GeneratorOptions {
  models::TextOptions text{};  // prompts longer than max_token_length take up to 3 chunks of 75
  // Noise levels, spacing, clipping; steps, prediction type and noise table are filled in for each picture.
  samplers::SamplerOptions sampler{};
  int64_t batch_size = 1;                   // pictures computed at once
  const std::atomic<bool>* stop = nullptr;  // when true, run() throws Error{Cancelled} before the next model call
  // Before each batch, with SampleRequest::lora_weights of its pictures.
  std::function<void(const std::map<size_t, double>&)> set_loras{};
  // After each model call, counted in pictures times calls.
  std::function<void(int64_t done, int64_t total)> on_call{};
};

struct Generated {
  SampleRequest request;  // with the size that was used
  data::Picture picture;
  at::Tensor latents;  // [C, h, w] fp32 on the CPU, scaled as the denoiser sees them
};

class Generator {
 public:
  // The model must outlive the generator and must still have its autoencoder. Throws Error{Config} for a model without
  // a noise table (flow matching).
  Generator(models::DiffusionModel& model, GeneratorOptions options);

  // The size filled in where it is 0 and rounded down to a multiple of 8 (of the autoencoder's factor, if larger), 64
  // at least.
  SampleRequest completed(SampleRequest request) const;

  // Neighbours that agree in size, steps, sampler and length of text share a batch; results come in the order of the
  // requests. No gradients, dropouts off (and put back afterwards); the numbers depend on the request alone, up to
  // rounding in batches. Throws Error{Data} when latents or pixels are not finite.
  void run(const std::vector<SampleRequest>& requests, const std::function<void(size_t index, Generated&&)>& take);
  Generated one(const SampleRequest& request);

 private:
  struct Item;
  void run_batch(const std::vector<Item>& items, const std::function<void(size_t, Generated&&)>& take);
  at::Tensor sample(const std::vector<Item>& items);
  models::Conditioning text_states(const std::vector<Item>& items) const;
  samplers::SamplerOptions sampler_options(int64_t steps) const;
  at::Device device() const;

  models::DiffusionModel& model_;
  GeneratorOptions options_;
  at::Tensor alphas_cumprod_;  // [T] fp32
  int64_t done_ = 0;
  int64_t total_ = 0;
};

// pixels [3, H, W] in [-1, 1], cut off beyond.
data::Picture picture_of(const at::Tensor& pixels);

}  // namespace cinnabar::sample
