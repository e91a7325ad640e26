#include "cinnabar/train/batch_inputs.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/tensor/accelerator.h"

namespace cinnabar::train {

at::Tensor BatchInputs::latents_of(const data::LoadedBatch& batch, const DrawKey& key) const {
  const at::NoGradGuard no_grad;
  const at::Tensor moments = batch.moments.defined() ? tensor::to_device(batch.moments, base_.device)
                                                     : encoded_moments(base_, batch.pixels, events_);
  const auto halves = moments.chunk(2, 1);
  std::vector<at::Tensor> noise;
  for (const data::BatchItem& item : batch.plan.items) {
    base::RandomStream random(key.seed, base::Purpose::LatentSample, key.step, item.item);
    noise.push_back(noise::normal_tensor(random, halves[0].sizes().slice(1)));
  }
  return step_.scaled(halves[0] + (halves[1] * 0.5).exp() * tensor::to_device(at::stack(noise), base_.device));
}

StepInputs BatchInputs::of(const data::LoadedBatch& batch, const DrawKey& key) const {
  std::vector<noise::SampleKey> keys;
  for (const data::BatchItem& item : batch.plan.items) keys.push_back({key.seed, key.step, item.item});
  StepInputs inputs;
  inputs.latents = latents_of(batch, key);
  const noise::BatchNoise draw = noise_.draw(inputs.latents, keys);
  inputs.noise = draw.noise;
  inputs.input_noise = draw.input_noise;
  inputs.timesteps = tensor::to_device(draw.timesteps, base_.device);
  inputs.conditioning = models::moved_to(text_.of(batch.captions), base_.device);
  inputs.conditioning.sizes =
      tensor::to_device(at::cat({batch.original_sizes, batch.crop_top_lefts, batch.target_sizes}, 1), base_.device);
  inputs.loss_weights = tensor::to_device(batch.loss_weights, base_.device);
  if (batch.masks.defined()) inputs.mask = tensor::to_device(batch.masks, base_.device);
  return inputs;
}

}  // namespace cinnabar::train
