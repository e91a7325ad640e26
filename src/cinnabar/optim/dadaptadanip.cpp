#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio and Mishchenko 2023, "Learning-rate-free learning by D-Adaptation"; numbers as dadaptation 3.2.
CINNABAR_REGISTER_OPTIMIZER(
    dadaptadanip, {.label = "DAdaptAdanIP",
                   .help = "DAdaptAdan with another estimate of the learning rate: set the learning rate to 1.",
                   .options = {betas_row({0.98, 0.92, 0.99}), positive_eps_row(1e-8), weight_decay_row(0.02),
                               flag_row({"no_prox", "Plain decay",
                                         "Weight decay before the step, as AdamW has it, instead of after it."},
                                        false),
                               first_estimate_row(), growth_rate_row()},
                   .reference_class = "dadaptation.experimental.dadapt_adan_ip.DAdaptAdanIP",
                   .aliases = {"dadaptation.experimental.DAdaptAdanIP"},
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

// m, n: means of the gradient and of its change, times d; v: mean of the squared look ahead; s: weighted sum of
// gradients; last: the gradient before.
class DAdaptAdanIP final : public AdaptiveRate {
 public:
  DAdaptAdanIP(FlatParameters& parameters, const schema::Values& values)
      : AdaptiveRate(parameters, values, {"exp_avg", "exp_avg_diff", "exp_avg_sq", "s", "pre_grad"},
                     {"numerator_weighted"}),
        betas_(checked_betas(values, 3)),
        eps_(values.number("eps")),
        decay_(values.number("weight_decay")),
        is_decay_first_(values.flag("no_prox")) {}

  void step(std::span<const double> rates) override {
    const at::NoGradGuard no_grad;
    const double dlr = estimate() * common_rate(rates);
    const double keep = betas_[2];
    if (steps_done() == 0.0) {
      for (size_t g = 0; g < groups().size(); ++g) buffer(g, 4).copy_(groups()[g].gradients);
    }
    const auto sums = sum_over(rates, 2, [&](const Piece& piece) {
      const auto [mean, change, square, s] =
          std::tie(piece.buffers[0], piece.buffers[1], piece.buffers[2], piece.buffers[3]);
      const at::Tensor difference = piece.gradients - piece.buffers[4];
      const at::Tensor agreement = piece.gradients * (s / square.sqrt().add_(eps_));
      const at::Tensor ahead = piece.gradients.add(difference, betas_[1]);
      mean.mul_(betas_[0]).add_(piece.gradients, dlr * (1.0 - betas_[0]));
      change.mul_(betas_[1]).add_(difference, dlr * (1.0 - betas_[1]));
      square.mul_(keep).addcmul_(ahead, ahead, 1.0 - keep);
      s.mul_(keep).add_(piece.gradients, dlr * (1.0 - keep));
      return sums_of({agreement, s.abs()});
    });
    if (sums.back() == 0.0) return;  // no gradient yet
    double& numerator = number(2);
    numerator = keep * numerator + (1.0 - keep) * dlr * sums[0];
    const double found = 2.0 * (keep / (1.0 - keep)) * numerator / sums[1];
    estimate() = std::max(estimate(), std::min(found, estimate() * growth_rate()));
    for_all(rates, [&](const Piece& piece) {
      const at::Tensor way = piece.buffers[0].add(piece.buffers[1], betas_[1]).div_(piece.buffers[2].sqrt().add_(eps_));
      if (is_decay_first_) piece.values.mul_(1.0 - dlr * decay_);
      piece.values.sub_(way);
      if (!is_decay_first_) piece.values.div_(1.0 + dlr * decay_);
      piece.buffers[4].copy_(piece.gradients);
    });
    steps_done() += 1.0;
  }

 private:
  std::vector<double> betas_;
  double eps_;
  double decay_;
  bool is_decay_first_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(dadaptadanip, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<DAdaptAdanIP>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
