#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Defazio and Mishchenko 2023, "Learning-rate-free learning by D-Adaptation"; numbers as dadaptation 3.2.
CINNABAR_REGISTER_OPTIMIZER(
    dadaptadagrad,
    {.label = "DAdaptAdaGrad",
     .help = "AdaGrad that finds its learning rate itself: set the learning rate to 1.",
     .options = {number_row({"momentum", "Momentum", "How much of the last place goes into the next one."}, 0.0,
                            {0.0, 0.999999}),
                 positive_eps_row(1e-6), weight_decay_row(0.0), first_estimate_row(), growth_rate_row()},
     .reference_class = "dadaptation.dadapt_adagrad.DAdaptAdaGrad",
     .aliases = {"dadaptation.DAdaptAdaGrad"},
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

constexpr double kFirstSquares = 1e-6;

// a: sum of squared gradients; s: weighted sum of gradients; x0: the first parameters.
class DAdaptAdaGrad final : public AdaptiveRate {
 public:
  DAdaptAdaGrad(FlatParameters& parameters, const schema::Values& values)
      : AdaptiveRate(parameters, values, {"alphak", "sk", "x0"}, {"gsq_weighted", "sksq_weighted", "skl1"}),
        momentum_(values.number("momentum")),
        eps_(values.number("eps")),
        decay_(values.number("weight_decay")) {
    for (size_t g = 0; g < groups().size(); ++g) buffer(g, 0).fill_(kFirstSquares);
  }

  void step(std::span<const double> rates) override {
    const at::NoGradGuard no_grad;
    const double rate = common_rate(rates);
    if (rate == 0.0) return;
    const double dlr = estimate() * rate;
    if (steps_done() == 0.0) {
      for (size_t g = 0; g < groups().size(); ++g) buffer(g, 2).copy_(groups()[g].values);
    }
    const auto sums = sum_over(rates, 3, [&](const Piece& piece) {
      const auto [squares, s] = std::tie(piece.buffers[0], piece.buffers[1]);
      const at::Tensor gradients = decayed(piece.gradients, piece.values, decay_);
      const at::Tensor old_weighted = s.square().div_(squares.sqrt().add_(eps_));
      const at::Tensor old_size = s.abs();
      const at::Tensor square = gradients.square();
      squares.add_(square);
      const at::Tensor divisor = squares.sqrt().add_(eps_);
      s.add_(gradients, dlr);
      return sums_of({square / divisor, s.square().div_(divisor).sub_(old_weighted), s.abs().sub_(old_size)});
    });
    double& gradient_sum = number(2);
    double& weighted = number(3);
    double& size = number(4);
    if (size + sums[2] == 0.0) return;  // no gradient yet
    weighted += sums[1];
    size += sums[2];
    gradient_sum += dlr * dlr * sums[0];
    const double found = (weighted - gradient_sum) / size;
    estimate() = std::max(estimate(), std::min(found, estimate() * growth_rate()));
    for_all(rates, [&](const Piece& piece) {
      const at::Tensor place = piece.buffers[2] - piece.buffers[1] / piece.buffers[0].sqrt().add_(eps_);
      piece.values.mul_(momentum_).add_(place, 1.0 - momentum_);
    });
    steps_done() += 1.0;
  }

 private:
  double momentum_;
  double eps_;
  double decay_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(dadaptadagrad, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<DAdaptAdaGrad>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
