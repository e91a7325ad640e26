#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio and Mishchenko 2023, "Learning-rate-free learning by D-Adaptation"; numbers as dadaptation 3.2.
CINNABAR_REGISTER_OPTIMIZER(dadaptlion,
                            {.label = "DAdaptLion",
                             .help = "Lion that finds its learning rate itself: set the learning rate to 1.",
                             .options = {betas_row({0.9, 0.99}), weight_decay_row(0.0), first_estimate_row()},
                             .reference_class = "dadaptation.dadapt_lion.DAdaptLion",
                             .aliases = {"dadaptation.DAdaptLion"},
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

// m: mean of the gradient times d; s: weighted sum of steps.
class DAdaptLion final : public AdaptiveRate {
 public:
  DAdaptLion(FlatParameters& parameters, const schema::Values& values)
      : AdaptiveRate(parameters, values, {"exp_avg", "s"}, {"numerator_weighted"}),
        betas_(checked_betas(values, 2)),
        decay_(values.number("weight_decay")) {}

  void step(std::span<const double> rates) override {
    const at::NoGradGuard no_grad;
    const double dlr = estimate() * common_rate(rates);
    const double keep = std::sqrt(betas_[1]);
    const auto sums = sum_over(rates, 2, [&](const Piece& piece) {
      const auto [mean, s] = std::tie(piece.buffers[0], piece.buffers[1]);
      piece.values.mul_(1.0 - dlr * decay_);
      const at::Tensor way = (mean * betas_[0]).add_(piece.gradients, 1.0 - betas_[0]).sign_();
      piece.values.add_(way, -dlr);
      mean.mul_(betas_[1]).add_(piece.gradients, (1.0 - betas_[1]) * dlr);
      const at::Tensor agreement = way * s;
      s.mul_(keep).add_(way, (1.0 - keep) * dlr);
      return sums_of({agreement, s.abs()});
    });
    if (sums[1] == 0.0) return;  // no gradient yet
    double& numerator = number(2);
    numerator = keep * numerator + (1.0 - keep) * dlr * sums[0];
    estimate() = std::max(estimate(), numerator / ((1.0 - keep) * sums[1]));
    steps_done() += 1.0;
  }

 private:
  std::vector<double> betas_;
  double decay_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(dadaptlion, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<DAdaptLion>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
