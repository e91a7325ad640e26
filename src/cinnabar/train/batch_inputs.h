// From a loaded batch to the inputs of a step: latents, noise, timesteps, text states. Training and validation use it.
#pragma once

#include "cinnabar/data/loader.h"
#include "cinnabar/noise/noise_source.h"
#include "cinnabar/train/loaded_model.h"
#include "cinnabar/train/step.h"
#include "cinnabar/train/text_states.h"

namespace cinnabar::train {

// Names the random streams of a batch: noise::SampleKey without the sample.
struct DrawKey {
  uint64_t seed = 0;
  uint64_t step = 0;  // the epoch while training
};

class BatchInputs {
 public:
  // All must outlive it.
  BatchInputs(LoadedModel& base, const TrainingStep& step, const noise::NoiseSource& noise, TextStates& text,
              base::EventSink& events)
      : base_(base), step_(step), noise_(noise), text_(text), events_(events) {}

  // Everything of StepInputs. Text states carry their graph when the encoder is trained and gradients are on.
  StepInputs of(const data::LoadedBatch& batch, const DrawKey& key) const;

 private:
  // [B, C, H, W] fp32, scaled: a draw from the autoencoder's distribution.
  at::Tensor latents_of(const data::LoadedBatch& batch, const DrawKey& key) const;

  LoadedModel& base_;
  const TrainingStep& step_;
  const noise::NoiseSource& noise_;
  TextStates& text_;
  base::EventSink& events_;
};

}  // namespace cinnabar::train
