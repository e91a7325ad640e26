#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

namespace {

schema::Option epsilons_row() {
  return {.name = "eps",
          .type = schema::Type::FloatList,
          .fallback = std::vector<double>{1e-30, 1e-16},
          .range = schema::Range{0.0, 1.0},
          .group = "Optimizer",
          .level = schema::Level::Expert,
          .label = "Epsilons",
          .help = "Added to squared gradients, and to the squared doubt about a step."};
}

}  // namespace

// Luo et al. 2023, "CAME: confidence-guided adaptive memory efficient optimization"; numbers as came_pytorch.
CINNABAR_REGISTER_OPTIMIZER(
    came,
    {.label = "CAME",
     .help = "As Adafactor, with smaller steps where they vary. Memory: one number a parameter.",
     .options = {betas_row({0.9, 0.999, 0.9999}), epsilons_row(),
                 number_row({"clip_threshold", "Clip steps", "Largest root mean square of a step before the rate."},
                            1.0, {1e-30, 1e30}),
                 weight_decay_row(0.0)},
     .reference_class = "came_pytorch.CAME.CAME",
     .aliases = {"came_pytorch.CAME", "came_pytorch.CAME.CAME"}});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/optim/factored_moments.h"
#include "cinnabar/optim/flat_pass.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

namespace {

class Came final : public Optimizer {
 public:
  Came(FlatParameters& parameters, const schema::Values& values)
      : parameters_(parameters),
        betas_(checked_betas(values, 3)),
        eps_(values.numbers("eps")),
        clip_threshold_(values.number("clip_threshold")),
        weight_decay_(values.number("weight_decay")) {
    if (eps_.size() != 2) {
      throw base::Error(base::ErrorCode::Config,
                        "optimizer_args: eps: expected two numbers, for example eps=1e-30,1e-16");
    }
    for (const ParameterGroup& group : parameters.groups()) {
      states_.push_back({FactoredMoments(group, /*keeps_whole=*/true), FactoredMoments(group, /*keeps_whole=*/false),
                         at::zeros_like(group.values)});
    }
  }

  void step(std::span<const double> rates) override {
    CINNABAR_ASSERT(rates.size() == states_.size());
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < states_.size(); ++i) {
      const ParameterGroup& group = parameters_.groups()[i];
      for_parameters(group.values, static_cast<int64_t>(group.slots.size()),
                     [&](int64_t slot) { step_parameter(group, states_[i], static_cast<size_t>(slot), rates[i]); });
    }
  }

  NamedTensors state() override {
    NamedTensors result;
    for (size_t i = 0; i < states_.size(); ++i) {
      const std::string& group = parameters_.groups()[i].name;
      states_[i].squares.add_state("exp_avg_sq", group, result);
      states_[i].doubts.add_state("exp_avg_res", group, result);
      result.emplace_back("exp_avg." + group, states_[i].means);
    }
    return result;
  }

 private:
  struct State {
    FactoredMoments squares;  // of the gradient
    FactoredMoments doubts;   // squared differences of steps from their mean
    at::Tensor means;         // of the steps
  };

  void step_parameter(const ParameterGroup& group, const State& state, size_t index, double rate) const {
    const ParameterSlot& slot = group.slots[index];
    const auto part = [&](const at::Tensor& buffer) {
      return buffer.narrow(0, slot.offset, slot.count).view(slot.shape);
    };
    at::Tensor values = part(group.values);
    const at::Tensor gradient = part(group.gradients);
    at::Tensor update = state.squares.inverse_root(index, gradient.square().add_(eps_[0]), betas_[1]).mul_(gradient);
    update.mul_(clip_factor(update, clip_threshold_));
    at::Tensor mean = part(state.means);
    mean.mul_(betas_[0]).add_(update, 1.0 - betas_[0]);
    if (state.doubts.is_factored(index)) {
      const at::Tensor doubt = (update - mean).square_().add_(eps_[1]);
      update = state.doubts.inverse_root(index, doubt, betas_[2]).mul_(mean);
    } else {
      update = mean;
    }
    if (weight_decay_ != 0.0) values.add_(values, -weight_decay_ * rate);
    values.sub_(update, rate);
  }

  FlatParameters& parameters_;
  std::vector<double> betas_;
  std::vector<double> eps_;
  double clip_threshold_;
  double weight_decay_;
  std::vector<State> states_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(came, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<Came>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
