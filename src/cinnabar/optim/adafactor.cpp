#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::optim {

namespace {

bool is_true(const std::optional<std::string>& text) { return text && (*text == "True" || *text == "true"); }

// With relative_step (the reference's default) the step sizes follow from the step and the size of each parameter: the
// rates of the run are dropped and the schedule becomes "adafactor:RATE", which files say, too.
void adafactor_rules(RunRules& rules) {
  schema::Values& values = rules.values;
  if (is_true(given_argument(values, "warmup_init")) && !is_true(given_argument(values, "relative_step"))) {
    if (given_argument(values, "relative_step")) {
      rules.notices.push_back("Adafactor: relative_step is on, since warmup_init needs it.");
    }
    set_argument(values, "relative_step", "True");
  }
  if (!given_argument(values, "relative_step")) set_argument(values, "relative_step", "True");
  if (is_true(given_argument(values, "relative_step"))) {
    if (values.steps("lr_warmup_steps", 1'000'000) != 0) {
      throw base::Error(base::ErrorCode::Config,
                        "lr_warmup_steps has no meaning for Adafactor with relative_step, which has no schedule: leave "
                        "it out, use warmup_init=True, or relative_step=False");
    }
    const double rate = values.maybe_number("learning_rate").value_or(2e-6);
    rules.notices.push_back(
        "Adafactor finds its own step sizes (relative_step): learning_rate, unet_lr, text_encoder_lr and lr_scheduler "
        "are not used. With relative_step=False they are.");
    values.set("lr_scheduler", "adafactor:" + schema::number_text(rate));
    for (const char* name : {"learning_rate", "unet_lr", "text_encoder_lr", "lr_scheduler_type"}) values.set(name, {});
    rules.is_schedule_constant = true;
    return;
  }
  if (values.maybe_number("max_grad_norm").value_or(1.0) != 0.0) {
    rules.notices.push_back("Adafactor clips its own steps; max_grad_norm 0 is usual with it.");
  }
  if (values.maybe_text("lr_scheduler").value_or("") != "constant_with_warmup") {
    rules.notices.push_back("The schedule constant_with_warmup is usual with Adafactor and relative_step=False.");
  }
}

}  // namespace

// Shazeer and Stern 2018, "Adafactor: adaptive learning rates with sublinear memory cost"; numbers as transformers.
CINNABAR_REGISTER_OPTIMIZER(
    adafactor,
    {.label = "Adafactor",
     .help = "Keeps row and column means of the squared gradient instead of all of it: hardly any memory.",
     .options = {schema::Option{.name = "eps",
                                .type = schema::Type::FloatList,
                                .fallback = std::vector<double>{1e-30, 1e-3},
                                .range = schema::Range{0.0, 1.0},
                                .group = "Optimizer",
                                .level = schema::Level::Expert,
                                .label = "Epsilons",
                                .help = "Added to squared gradients; and the least size that a parameter counts as."},
                 number_row({"clip_threshold", "Clip steps", "Largest root mean square of a step before the rate."},
                            1.0, {1e-30, 1e30}),
                 number_row({"decay_rate", "Decay rate", "Power of the step by which the mean square forgets."}, -0.8,
                            {-10.0, 0.0}),
                 number_row({"beta1", "Beta 1", "How much of its running mean each step keeps; unset: no mean."},
                            std::nullopt, {0.0, 0.999999}),
                 weight_decay_row(0.0),
                 flag_row({"scale_parameter", "Scale by size", "Steps are proportional to the size of the parameter."},
                          true),
                 flag_row({"relative_step", "Own rate", "The rate follows from the number of steps alone."}, true),
                 flag_row({"warmup_init", "Slow start", "With relative_step: begins with very small steps."}, false)},
     .reference_class = "transformers.optimization.Adafactor",
     .aliases = {"transformers.Adafactor", "transformers.optimization.Adafactor"},
     .rules = adafactor_rules});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "cinnabar/optim/factored_moments.h"
#include "cinnabar/optim/flat_pass.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

namespace {

class Adafactor final : public Optimizer {
 public:
  Adafactor(FlatParameters& parameters, const schema::Values& values)
      : parameters_(parameters),
        eps_(values.numbers("eps")),
        clip_threshold_(values.number("clip_threshold")),
        decay_rate_(values.number("decay_rate")),
        beta1_(values.maybe_number("beta1")),
        weight_decay_(values.number("weight_decay")),
        is_scaled_(values.flag("scale_parameter")),
        is_relative_(values.flag("relative_step")),
        is_slow_(values.flag("warmup_init")) {
    const auto fail = [](const std::string& message) {
      throw base::Error(base::ErrorCode::Config, "optimizer_args: " + message);
    };
    if (eps_.size() != 2) fail("eps: expected two numbers, for example eps=1e-30,1e-3");
    if (is_slow_ && !is_relative_) fail("warmup_init=True needs relative_step=True");
    for (const ParameterGroup& group : parameters.groups()) {
      states_.push_back({FactoredMoments(group, /*keeps_whole=*/true),
                         beta1_ ? at::zeros_like(group.values) : at::Tensor(), at::zeros({}, at::kDouble)});
    }
  }

  void step(std::span<const double> rates) override {
    CINNABAR_ASSERT(rates.size() == states_.size());
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < states_.size(); ++i) {
      const ParameterGroup& group = parameters_.groups()[i];
      states_[i].step.add_(1.0);
      const double step = states_[i].step.item<double>();
      for_parameters(group.values, static_cast<int64_t>(group.slots.size()), [&](int64_t slot) {
        step_parameter(group, states_[i], static_cast<size_t>(slot), rates[i], step);
      });
    }
  }

  // The rate of each group's first parameter, as the reference reports it.
  std::vector<double> effective_rates(std::span<const double> rates) const override {
    std::vector<double> result(rates.begin(), rates.end());
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].reported_rate.defined()) result[i] = states_[i].reported_rate.item<double>();
    }
    return result;
  }

  NamedTensors state() override {
    NamedTensors result;
    for (size_t i = 0; i < states_.size(); ++i) {
      const std::string& group = parameters_.groups()[i].name;
      states_[i].squares.add_state("exp_avg_sq", group, result);
      if (beta1_) result.emplace_back("exp_avg." + group, states_[i].means);
      result.emplace_back("step." + group, states_[i].step);
    }
    return result;
  }

 private:
  struct State {
    FactoredMoments squares;
    at::Tensor means;            // of the steps, with beta1; like the parameters
    at::Tensor step;             // 0-d fp64 on the CPU
    at::Tensor reported_rate{};  // 0-d fp64; undefined before the first step of this process
  };

  // 0-d fp64.
  at::Tensor rate_of(const at::Tensor& values, double rate, double step) const {
    double result = rate;
    if (is_relative_) result = std::min(is_slow_ ? 1e-6 * step : 1e-2, 1.0 / std::sqrt(step));
    if (is_scaled_) return root_mean_square(values).clamp_min_(eps_[1]).mul_(result);
    return at::full({}, result, values.options().dtype(at::kDouble));
  }

  void step_parameter(const ParameterGroup& group, State& state, size_t index, double base_rate, double step) const {
    const ParameterSlot& slot = group.slots[index];
    at::Tensor values = group.values.narrow(0, slot.offset, slot.count).view(slot.shape);
    const at::Tensor gradient = group.gradients.narrow(0, slot.offset, slot.count).view(slot.shape);
    const at::Tensor rate = rate_of(values, base_rate, step);
    if (index == 0) state.reported_rate = rate;
    const double keep = 1.0 - std::pow(step, decay_rate_);
    at::Tensor update = state.squares.inverse_root(index, gradient.square().add_(eps_[0]), keep).mul_(gradient);
    update.mul_(rate * clip_factor(update, clip_threshold_));
    if (beta1_) {
      at::Tensor mean = state.means.narrow(0, slot.offset, slot.count).view(slot.shape);
      update = mean.mul_(*beta1_).add_(update, 1.0 - *beta1_);
    }
    if (weight_decay_ != 0.0) values.sub_(values * (rate * weight_decay_));
    values.sub_(update);
  }

  FlatParameters& parameters_;
  std::vector<double> eps_;
  double clip_threshold_;
  double decay_rate_;
  std::optional<double> beta1_;
  double weight_decay_;
  bool is_scaled_;
  bool is_relative_;
  bool is_slow_;
  std::vector<State> states_;
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(adafactor, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<Adafactor>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
