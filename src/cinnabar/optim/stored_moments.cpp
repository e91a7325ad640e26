#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/stored_moments.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/moment_store.h"

namespace cinnabar::optim {

namespace {

// One piece of a step: the views are live, `moments` has the running means.
struct Work {
  at::Tensor values;
  at::Tensor gradients;
  std::vector<at::Tensor> moments;
  double rate;
  double group_rate;  // base rate
  double step;        // from 1
};

class StoredMoments : public Optimizer {
 public:
  void step(std::span<const double> rates) override {
    CINNABAR_ASSERT(rates.size() == states_.size());
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < states_.size(); ++i) {
      const ParameterGroup& group = parameters_.groups()[i];
      State& state = states_[i];
      state.step.add_(1.0);
      const double step = state.step.item<double>();
      for (const MomentRun& run : state.runs) {
        for_pieces(group.values, run.span, [&](int64_t begin, int64_t count) {
          Work work{group.values.narrow(0, begin, count),
                    group.gradients.narrow(0, begin, count),
                    {},
                    rates[i],
                    group.lr,
                    step};
          for (const MomentStore& store : state.stores) work.moments.push_back(store.load(run, begin, count));
          apply(work);
          for (size_t k = 0; k < state.stores.size(); ++k) state.stores[k].save(run, begin, work.moments[k]);
        });
      }
    }
  }

  NamedTensors state() override {
    NamedTensors result;
    for (size_t i = 0; i < states_.size(); ++i) {
      const std::string& group = parameters_.groups()[i].name;
      for (size_t k = 0; k < names_.size(); ++k) states_[i].stores[k].add_state(names_[k], group, result);
      result.emplace_back("step." + group, states_[i].step);
    }
    return result;
  }

 protected:
  struct Moment {
    std::string name;
    const CodeLevels& levels;
  };
  StoredMoments(FlatParameters& parameters, const std::vector<Moment>& moments, std::optional<int64_t> min_8bit_size)
      : parameters_(parameters) {
    for (const Moment& moment : moments) names_.push_back(moment.name);
    for (const ParameterGroup& group : parameters.groups()) {
      State& state = states_.emplace_back();
      state.runs = moment_runs(group, min_8bit_size);
      for (const Moment& moment : moments) state.stores.emplace_back(group, state.runs, moment.levels);
      state.step = at::zeros({}, at::kDouble);
    }
  }

  virtual void apply(Work& work) const = 0;

 private:
  struct State {
    std::vector<MomentRun> runs;
    std::vector<MomentStore> stores;
    at::Tensor step;  // 0-d fp64 on the CPU
  };

  FlatParameters& parameters_;
  std::vector<std::string> names_;
  std::vector<State> states_;
};

// m, v: means of the gradient and its square. The step uses both before they are rounded to codes.
class AdamW final : public StoredMoments {
 public:
  AdamW(FlatParameters& parameters, const schema::Values& values)
      : StoredMoments(parameters, {{"exp_avg", signed_levels()}, {"exp_avg_sq", unsigned_levels()}},
                      min_8bit_size_of(values)),
        betas_(checked_betas(values, 2)),
        eps_(values.number("eps")),
        decay_(values.number("weight_decay")) {}

 private:
  void apply(Work& work) const override {
    at::Tensor& mean = work.moments[0];
    at::Tensor& square = work.moments[1];
    mean.mul_(betas_[0]).add_(work.gradients, 1.0 - betas_[0]);
    square.mul_(betas_[1]).addcmul_(work.gradients, work.gradients, 1.0 - betas_[1]);
    const at::Tensor divisor = square.sqrt().div_(std::sqrt(1.0 - std::pow(betas_[1], work.step))).add_(eps_);
    if (decay_ > 0.0) work.values.mul_(1.0 - work.rate * decay_);
    work.values.addcdiv_(mean, divisor, -work.rate / (1.0 - std::pow(betas_[0], work.step)));
  }

  std::vector<double> betas_;
  double eps_;
  double decay_;
};

class Lion final : public StoredMoments {
 public:
  Lion(FlatParameters& parameters, const schema::Values& values)
      : StoredMoments(parameters, {{"exp_avg", signed_levels()}}, min_8bit_size_of(values)),
        betas_(checked_betas(values, 2)),
        decay_(values.number("weight_decay")),
        is_decoupled_(values.flag("decoupled_weight_decay")) {}

 private:
  void apply(Work& work) const override {
    at::Tensor& mean = work.moments[0];
    const double decay = is_decoupled_ && work.group_rate > 0.0 ? decay_ / work.group_rate : decay_;
    if (decay > 0.0) work.values.mul_(1.0 - work.rate * decay);
    work.values.add_((mean * betas_[0]).add_(work.gradients, 1.0 - betas_[0]).sign_(), -work.rate);
    mean.mul_(betas_[1]).add_(work.gradients, 1.0 - betas_[1]);
  }

  std::vector<double> betas_;
  double decay_;
  bool is_decoupled_;
};

class Sgd final : public StoredMoments {
 public:
  Sgd(FlatParameters& parameters, const schema::Values& values, bool is_nesterov)
      : StoredMoments(parameters, {{"momentum_buffer", signed_levels()}}, min_8bit_size_of(values)),
        momentum_(values.number("momentum")),
        dampening_(values.maybe_number("dampening").value_or(0.0)),
        decay_(values.number("weight_decay")),
        is_nesterov_(is_nesterov) {}

 private:
  void apply(Work& work) const override {
    at::Tensor& mean = work.moments[0];
    at::Tensor gradient = work.gradients;
    if (decay_ != 0.0) gradient = gradient.add(work.values, decay_);
    if (momentum_ != 0.0) {
      // The first step takes the whole gradient; the mean is 0 before it.
      mean.mul_(momentum_).add_(gradient, work.step > 1.0 ? 1.0 - dampening_ : 1.0);
      gradient = is_nesterov_ ? gradient.add(mean, momentum_) : mean;
    }
    work.values.add_(gradient, -work.rate);
  }

  double momentum_;
  double dampening_;
  double decay_;
  bool is_nesterov_;
};

}  // namespace

std::optional<int64_t> min_8bit_size_of(const schema::Values& values) { return values.maybe_integer("min_8bit_size"); }

std::unique_ptr<Optimizer> make_stored_adamw(FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<AdamW>(parameters, values);
}

std::unique_ptr<Optimizer> make_stored_lion(FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<Lion>(parameters, values);
}

std::unique_ptr<Optimizer> make_stored_sgd(FlatParameters& parameters, const schema::Values& values, bool is_nesterov) {
  return std::make_unique<Sgd>(parameters, values, is_nesterov);
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
