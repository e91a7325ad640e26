// One micro-step: from a batch of latents, noise and text states to the loss that backward starts from.
#pragma once

#include <ATen/core/Tensor.h>

#include "cinnabar/loss/training_loss.h"
#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/noise/diffusion_table.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// B batch, C channels, H W latent height and width.
struct StepInputs {
  at::Tensor latents;                 // [B, C, H, W] fp32, scaled (TrainingStep::scaled)
  at::Tensor noise;                   // [B, C, H, W] fp32: what the target is made of, offset and pyramid included
  at::Tensor input_noise{};           // what the noisy latents are made of; undefined: `noise`
  at::Tensor timesteps;               // int64 [B] in 0..999
  models::Conditioning conditioning;  // with its graph when the text encoder is trained
  at::Tensor mask{};                  // [B, h, w] in 0..1 of any size, or undefined
  at::Tensor loss_weights{};          // [B]: 1, or prior_loss_weight; undefined: 1
};

struct StepLoss {
  at::Tensor mean;        // 0-d fp32 with its graph: what is minimised
  at::Tensor per_sample;  // [B] fp32, detached
};

class TrainingStep {
 public:
  // Reads zero_terminal_snr and the options of the loss. The model must outlive the step. Throws Error{Config} for
  // options that do not fit the model's prediction type, and for flow models, which have no noise table.
  TrainingStep(models::DiffusionModel& model, const schema::Values& values);

  // Where the batches will be.
  void to(at::Device device);
  // (latents - shift) * scale of the family.
  at::Tensor scaled(const at::Tensor& latents) const;
  const noise::DiffusionTable& table() const { return table_; }

  // The order of sd-scripts: noisy latents, prediction, target, element-wise loss in fp32, mask, mean per
  // sample, loss weight, SNR weights, mean. Divide by the accumulation steps before backward.
  StepLoss run(const StepInputs& inputs) const;

 private:
  models::DiffusionModel& model_;
  noise::DiffusionTable table_;
  loss::TrainingLoss loss_;
};

}  // namespace cinnabar::train
