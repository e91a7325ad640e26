#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio and Mishchenko 2023, "Learning-rate-free learning by D-Adaptation"; numbers as dadaptation 3.2.
CINNABAR_REGISTER_OPTIMIZER(dadaptadam,
                            {.label = "DAdaptAdam",
                             .help = "Adam that finds its learning rate itself: set the learning rate to 1.",
                             .options = {betas_row({0.9, 0.999}), positive_eps_row(1e-8), weight_decay_row(0.0),
                                         flag_row({"decouple", "Decoupled decay",
                                                   "Weight decay apart from the gradient, as AdamW has it."},
                                                  false),
                                         flag_row({"use_bias_correction", "Bias correction",
                                                   "Adam's correction of its young means: smaller first steps."},
                                                  false),
                                         first_estimate_row(), growth_rate_row()},
                             .reference_class = "dadaptation.dadapt_adam.DAdaptAdam",
                             .aliases = {"dadaptation.DAdaptAdam"},
                             .rules = refuse_different_rates});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <tuple>

#include "cinnabar/optim/adaptive_rate.h"

namespace cinnabar::optim {

namespace {

// s: weighted sum of gradients; m and v: Adam's means, where m is of steps.
class DAdaptAdam final : public AdaptiveRate {
 public:
  DAdaptAdam(FlatParameters& parameters, const schema::Values& values)
      : AdaptiveRate(parameters, values, {"exp_avg", "exp_avg_sq", "s"}, {"numerator_weighted"}),
        betas_(checked_betas(values, 2)),
        eps_(values.number("eps")),
        decay_(values.number("weight_decay")),
        is_decoupled_(values.flag("decouple")),
        has_bias_correction_(values.flag("use_bias_correction")) {}

  void step(std::span<const double> rates) override {
    const at::NoGradGuard no_grad;
    const double rate = common_rate(rates);
    double correction = 1.0;
    if (has_bias_correction_) {
      const double next = steps_done() + 1.0;
      correction = std::sqrt(1.0 - std::pow(betas_[1], next)) / (1.0 - std::pow(betas_[0], next));
    }
    const double dlr = estimate() * rate * correction;
    const double keep = std::sqrt(betas_[1]);
    const auto sums = sum_over(rates, 2, [&](const Piece& piece) {
      const auto [mean, square, s] = std::tie(piece.buffers[0], piece.buffers[1], piece.buffers[2]);
      const at::Tensor gradients = decayed(piece.gradients, piece.values, is_decoupled_ ? 0.0 : decay_);
      const at::Tensor agreement = gradients * (s / square.sqrt().add_(eps_));
      mean.mul_(betas_[0]).add_(gradients, dlr * (1.0 - betas_[0]));
      square.mul_(betas_[1]).addcmul_(gradients, gradients, 1.0 - betas_[1]);
      s.mul_(keep).add_(gradients, dlr * (1.0 - keep));
      return sums_of({agreement, s.abs()});
    });
    if (sums[1] == 0.0) return;  // no gradient yet
    double& numerator = number(2);
    numerator = keep * numerator + (1.0 - keep) * dlr * sums[0];
    const double found = numerator / ((1.0 - keep) * sums[1]);
    estimate() = std::max(estimate(), std::min(found, estimate() * growth_rate()));
    for_all(rates, [&](const Piece& piece) {
      if (decay_ != 0.0 && is_decoupled_) piece.values.add_(piece.values, -decay_ * dlr);
      piece.values.addcdiv_(piece.buffers[0], piece.buffers[1].sqrt().add_(eps_), -1.0);
    });
    steps_done() += 1.0;
  }

 private:
  std::vector<double> betas_;
  double eps_;
  double decay_;
  bool is_decoupled_;
  bool has_bias_correction_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(dadaptadam, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<DAdaptAdam>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
