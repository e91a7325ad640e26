#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio and Mishchenko 2023, "Learning-rate-free learning by D-Adaptation", version 1; numbers as dadaptation 3.2.
CINNABAR_REGISTER_OPTIMIZER(
    dadaptadampreprint,
    {.label = "DAdaptAdamPreprint",
     .help = "The first published form of DAdaptAdam, and what DAdaptation means: set the learning rate to 1.",
     .options = {betas_row({0.9, 0.999}), positive_eps_row(1e-8), weight_decay_row(0.0),
                 flag_row({"decouple", "Decoupled decay", "Weight decay apart from the gradient, as AdamW has it."},
                          false),
                 first_estimate_row(), growth_rate_row()},
     .reference_class = "dadaptation.experimental.dadapt_adam_preprint.DAdaptAdamPreprint",
     .aliases = {"DAdaptation", "dadaptation.experimental.DAdaptAdamPreprint"},
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
class DAdaptAdamPreprint final : public AdaptiveRate {
 public:
  DAdaptAdamPreprint(FlatParameters& parameters, const schema::Values& values)
      : AdaptiveRate(parameters, values, {"exp_avg", "exp_avg_sq", "s"}, {"gsq_weighted"}),
        betas_(checked_betas(values, 2)),
        eps_(values.number("eps")),
        decay_(values.number("weight_decay")),
        is_decoupled_(values.flag("decouple")) {}

  void step(std::span<const double> rates) override {
    const at::NoGradGuard no_grad;
    const double dlr = estimate() * common_rate(rates);
    const double keep = betas_[1];
    const auto sums = sum_over(rates, 3, [&](const Piece& piece) {
      const auto [mean, square, s] = std::tie(piece.buffers[0], piece.buffers[1], piece.buffers[2]);
      const at::Tensor gradients = decayed(piece.gradients, piece.values, is_decoupled_ ? 0.0 : decay_);
      mean.mul_(betas_[0]).add_(gradients, dlr * (1.0 - betas_[0]));
      square.mul_(keep).addcmul_(gradients, gradients, 1.0 - keep);
      const at::Tensor divisor = square.sqrt().add_(eps_);
      s.mul_(keep).add_(gradients, dlr * (1.0 - keep));
      return sums_of({gradients.square().div_(divisor), s.square().div_(divisor), s.abs()});
    });
    if (sums[2] == 0.0) return;  // no gradient yet
    double& squares = number(2);
    squares = keep * squares + sums[0] * dlr * dlr * (1.0 - keep);
    const double found = (sums[1] / (1.0 - keep) - squares) / sums[2];
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
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(dadaptadampreprint, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<DAdaptAdamPreprint>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
