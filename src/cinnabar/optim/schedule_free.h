// What the schedule-free optimizers share (Defazio et al. 2024, "The road less scheduled"): three points instead of a
// schedule. Gradients are taken at y, steps are made by z, and x, the mean of z over the steps, is what is saved.
#pragma once

#include "cinnabar/optim/buffered_optimizer.h"

namespace cinnabar::optim {

class ScheduleFree : public BufferedOptimizer {
 public:
  void step(std::span<const double> rates) override;
  // y to x, and back.
  void enter_training() override;
  void enter_evaluation() override;

 protected:
  struct Settings {
    double interpolation = 0.9;  // y = x + (1 - interpolation) (z - x): beta1, or the momentum
    double decay = 0.0;
    double r = 0.0;                // power of the step in the weights of the mean
    double weight_lr_power = 2.0;  // power of the largest rate in them
    int64_t warmup_steps = 0;
  };
  // `has_squares`: keeps a running mean of the squared gradient, too.
  ScheduleFree(FlatParameters& parameters, const Settings& settings, bool has_squares);

  // Rate of step `step` (from 1) from the group's rate.
  virtual double step_rate(double rate, double step) const;
  // The gradient's direction: divided by the root of its mean square, or as it is. `squares` is undefined without.
  virtual at::Tensor direction(const at::Tensor& gradients, const at::Tensor& squares, double step) const = 0;

  static Settings read_settings(const schema::Values& values);

 private:
  // Buffers and numbers: z (and squares); then for each group the steps done, the largest rate, the sum of weights.
  double& group_number(size_t group, size_t index) const { return number(1 + 3 * group + index); }
  void step_group(size_t index, double rate);
  bool is_evaluating() const { return number(0) != 0.0; }
  // Moves the values towards z by `share`.
  void move_values(double share) const;

  Settings settings_;
  bool has_squares_;
};

}  // namespace cinnabar::optim
