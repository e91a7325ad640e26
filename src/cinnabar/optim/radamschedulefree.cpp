#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio et al. 2024 with the rectified warm-up of Liu et al. 2020 ("On the variance of the adaptive learning rate and
// beyond", section 4); numbers as schedulefree.RAdamScheduleFree.
CINNABAR_REGISTER_OPTIMIZER(
    radamschedulefree,
    {.label = "RAdamScheduleFree",
     .help = "As AdamWScheduleFree, with a warm-up that follows from its betas.",
     .options = {betas_row({0.9, 0.999}), eps_row(1e-8), weight_decay_row(0.0), averaging_row(), averaging_power_row(),
                 flag_row({"silent_sgd_phase", "Silent start",
                           "Makes no steps while the mean square is too young; otherwise plain gradient steps."},
                          true)},
     .reference_class = "schedulefree.radam_schedulefree.RAdamScheduleFree",
     .aliases = {"schedulefree.RAdamScheduleFree"},
     .rules = take_constant_schedule});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/optim/schedule_free.h"

namespace cinnabar::optim {

namespace {

class RAdamScheduleFree final : public ScheduleFree {
 public:
  RAdamScheduleFree(FlatParameters& parameters, const schema::Values& values)
      : ScheduleFree(parameters, settings_of(values), /*has_squares=*/true),
        beta2_(checked_betas(values, 2)[1]),
        eps_(values.number("eps")),
        is_start_silent_(values.flag("silent_sgd_phase")) {}

 private:
  static Settings settings_of(const schema::Values& values) {
    Settings settings = read_settings(values);
    settings.interpolation = checked_betas(values, 2)[0];
    return settings;
  }

  // rho: length of the simple mean that the running mean after `step` steps is worth.
  double longest() const { return 2.0 / (1.0 - beta2_) - 1.0; }
  double length(double step) const {
    const double power = std::pow(beta2_, step);
    return longest() - 2.0 * step * power / (1.0 - power);
  }

  double step_rate(double rate, double step) const override {
    const double end = longest();
    const double now = length(step);
    if (now <= 4.0) return is_start_silent_ ? 0.0 : rate;
    return rate * std::sqrt((now - 4.0) * (now - 2.0) * end / ((end - 4.0) * (end - 2.0) * now));
  }

  at::Tensor direction(const at::Tensor& gradients, const at::Tensor& squares, double step) const override {
    squares.mul_(beta2_).addcmul_(gradients, gradients, 1.0 - beta2_);
    if (length(step) <= 4.0) return gradients;
    return gradients / (squares / (1.0 - std::pow(beta2_, step))).sqrt_().add_(eps_);
  }

  double beta2_;
  double eps_;
  bool is_start_silent_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(radamschedulefree, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<RAdamScheduleFree>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
