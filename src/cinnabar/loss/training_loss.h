// The whole loss of a training batch: element-wise loss, mask, mean per sample, weights.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/loss/element_loss.h"
#include "cinnabar/loss/huber_threshold.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::loss {

// Tables of a model with a noise table, fp32 [T]; both undefined for flow models, which use no SNR weights.
struct LossTables {
  at::Tensor alphas_cumprod;  // as trained (after a zero-terminal rescale)
  at::Tensor snr;             // before it
  bool is_velocity = false;
};

// B batch.
struct LossBatch {
  at::Tensor prediction;        // [B, C, H, W], any floating dtype
  at::Tensor target;            // [B, C, H, W]
  at::Tensor timesteps;         // [B]
  at::Tensor mask{};            // [B, h, w] or undefined
  at::Tensor sample_weights{};  // [B]: 1, or prior_loss_weight for regularisation pictures; undefined means 1
};

class TrainingLoss {
 public:
  // Reads loss_type and the options of all loss entries and weights. Throws Error{Config} for weights that do not fit
  // the model's prediction type.
  TrainingLoss(const schema::Values& values, LossTables tables);

  // fp32 [B], computed in fp32. Its mean is what is minimised.
  at::Tensor per_sample(const LossBatch& batch) const;

 private:
  struct ActiveWeight {
    const SampleWeight* weight;
    double value;
  };
  LossTables tables_;
  const ElementLoss* element_;
  HuberOptions huber_;
  bool is_mask_normalised_;
  std::vector<ActiveWeight> weights_;
};

}  // namespace cinnabar::loss
