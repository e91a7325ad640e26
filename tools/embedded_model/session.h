// What the two training programs of the embedded model share: optimizer with moving average, rates, saving.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/optim/flat_parameters.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::embedded {

struct SessionOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.0;
  int64_t steps = 1;
  int64_t warmup = 100;
  double constant_share = 0.0;  // of the steps, at the full rate before the cosine
  double floor = 0.02;          // the cosine ends at this share of the rate
  double ema = 0.995;
};

// Trains a list of tensors, which become views of one flat buffer.
class Session {
 public:
  Session(std::vector<std::pair<std::string, at::Tensor*>> parameters, const SessionOptions& options);
  ~Session();
  // After backward: clips to 1, steps, follows with the average, clears the gradients. Returns the norm before
  // clipping.
  double step();
  int64_t steps_done() const { return done_; }
  // Exchanges the parameters with their moving average, in place; a second call exchanges back.
  void swap_average();

 private:
  double rate(int64_t step) const;

  SessionOptions options_;
  std::unique_ptr<optim::FlatParameters> flat_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  at::Tensor average_;
  int64_t done_ = 0;
};

// All tensors of the model as fp16 (or fp32) in one file with single-file names and the objective in its metadata.
void save_model(models::DiffusionModel& model, const std::filesystem::path& path, at::ScalarType dtype);

// Trainable tensors of a module by name.
std::vector<std::pair<std::string, at::Tensor*>> trainable(nn::Module& module, const std::string& prefix);

}  // namespace cinnabar::embedded
