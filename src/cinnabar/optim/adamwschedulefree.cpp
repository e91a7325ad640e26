#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio et al. 2024, "The road less scheduled"; numbers as schedulefree.AdamWScheduleFree.
CINNABAR_REGISTER_OPTIMIZER(
    adamwschedulefree,
    {.label = "AdamWScheduleFree",
     .help = "AdamW that averages its steps instead of following a schedule: good at every moment of the run.",
     .options = {betas_row({0.9, 0.999}), eps_row(1e-8), weight_decay_row(0.0), own_warmup_row(), averaging_row(),
                 averaging_power_row()},
     .reference_class = "schedulefree.adamw_schedulefree.AdamWScheduleFree",
     .aliases = {"schedulefree.AdamWScheduleFree"},
     .rules = take_constant_schedule});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/optim/schedule_free.h"

namespace cinnabar::optim {

namespace {

class AdamWScheduleFree final : public ScheduleFree {
 public:
  AdamWScheduleFree(FlatParameters& parameters, const schema::Values& values)
      : ScheduleFree(parameters, settings_of(values), /*has_squares=*/true),
        beta2_(checked_betas(values, 2)[1]),
        eps_(values.number("eps")) {}

 private:
  static Settings settings_of(const schema::Values& values) {
    Settings settings = read_settings(values);
    settings.interpolation = checked_betas(values, 2)[0];
    return settings;
  }

  at::Tensor direction(const at::Tensor& gradients, const at::Tensor& squares, double step) const override {
    squares.mul_(beta2_).addcmul_(gradients, gradients, 1.0 - beta2_);
    return gradients / (squares / (1.0 - std::pow(beta2_, step))).sqrt_().add_(eps_);
  }

  double beta2_;
  double eps_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(adamwschedulefree, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<AdamWScheduleFree>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
