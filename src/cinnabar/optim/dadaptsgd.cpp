#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio and Mishchenko 2023, "Learning-rate-free learning by D-Adaptation"; numbers as dadaptation 3.2.
CINNABAR_REGISTER_OPTIMIZER(
    dadaptsgd, {.label = "DAdaptSGD",
                .help = "Gradient steps that find their learning rate themselves: set the learning rate to 1.",
                .options = {number_row({"momentum", "Momentum", "How much of the last place goes into the next one."},
                                       0.0, {0.0, 0.999999}),
                            weight_decay_row(0.0), first_estimate_row(), growth_rate_row()},
                .reference_class = "dadaptation.dadapt_sgd.DAdaptSGD",
                .aliases = {"dadaptation.DAdaptSGD"},
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

// s: weighted sum of gradients; x0: the first parameters.
class DAdaptSGD final : public AdaptiveRate {
 public:
  DAdaptSGD(FlatParameters& parameters, const schema::Values& values)
      : AdaptiveRate(parameters, values, {"s", "x0"}, {"numerator_weighted", "first_norm"}),
        momentum_(values.number("momentum")),
        decay_(values.number("weight_decay")) {}

  void step(std::span<const double> rates) override {
    const at::NoGradGuard no_grad;
    const double rate = common_rate(rates);
    double& first_norm = number(3);
    if (steps_done() == 0.0) {
      for (size_t g = 0; g < groups().size(); ++g) buffer(g, 1).copy_(groups()[g].values);
      first_norm =
          std::sqrt(sum_over(rates, 1, [](const Piece& piece) { return sums_of({piece.gradients.square()}); }).front());
    }
    if (first_norm == 0.0) return;  // no gradient yet
    const double dlr = estimate() * rate / first_norm;
    const auto sums = sum_over(rates, 2, [&](const Piece& piece) {
      const at::Tensor& s = piece.buffers[0];
      const at::Tensor gradients = decayed(piece.gradients, piece.values, decay_);
      const at::Tensor agreement = gradients * s;
      s.add_(gradients, dlr);
      return sums_of({agreement, s.square()});
    });
    if (sums[1] == 0.0) return;
    double& numerator = number(2);
    numerator += dlr * sums[0];
    const double found = 2.0 * numerator / std::sqrt(sums[1]);
    estimate() = std::max(estimate(), std::min(found, estimate() * growth_rate()));
    for_all(rates, [&](const Piece& piece) {
      piece.values.mul_(momentum_).add_(piece.buffers[1] - piece.buffers[0], 1.0 - momentum_);
    });
    steps_done() += 1.0;
  }

 private:
  double momentum_;
  double decay_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(dadaptsgd, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<DAdaptSGD>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
