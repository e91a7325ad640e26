#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/adam_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "cinnabar/optim/adam_kernel.h"
#include "cinnabar/tensor/parallel.h"

namespace cinnabar::optim {

namespace {

constexpr int64_t kPiece = 32768;  // elements that a thread takes at once: less is not worth waking one

class Adam : public Optimizer {
 public:
  Adam(FlatParameters& parameters, const schema::Values& values, WeightDecay kind)
      : parameters_(parameters),
        eps_(values.number("eps")),
        weight_decay_(values.number("weight_decay")),
        is_amsgrad_(values.flag("amsgrad")),
        kind_(kind) {
    const auto* betas = std::get_if<std::vector<double>>(&values.raw("betas"));
    if (betas == nullptr || betas->size() != 2) {
      throw base::Error(base::ErrorCode::Config,
                        "optimizer_args: betas: expected two numbers, for example betas=0.9,0.999");
    }
    beta1_ = betas->at(0);
    beta2_ = betas->at(1);
    for (const ParameterGroup& group : parameters.groups()) {
      moments_.push_back({at::zeros_like(group.values), at::zeros_like(group.values),
                          is_amsgrad_ ? at::zeros_like(group.values) : at::Tensor(),
                          at::zeros({}, group.values.options())});
    }
  }

  void step(std::span<const double> rates) override {
    CINNABAR_ASSERT(rates.size() == moments_.size() && parameters_.groups().size() == moments_.size());
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < moments_.size(); ++i) {
      moments_[i].step.add_(1.0);
      if (parameters_.groups()[i].values.is_cpu()) {
        step_on_cpu(parameters_.groups()[i], moments_[i], rates[i]);
      } else {
        step_on_device(parameters_.groups()[i], moments_[i], rates[i]);
      }
    }
  }

  NamedTensors state() override {
    NamedTensors result;
    for (size_t i = 0; i < moments_.size(); ++i) {
      const std::string& group = parameters_.groups()[i].name;
      result.emplace_back("exp_avg." + group, moments_[i].exp_avg);
      result.emplace_back("exp_avg_sq." + group, moments_[i].exp_avg_sq);
      if (is_amsgrad_) result.emplace_back("max_exp_avg_sq." + group, moments_[i].max_exp_avg_sq);
      result.emplace_back("step." + group, moments_[i].step);
    }
    return result;
  }

 private:
  struct Moments {
    at::Tensor exp_avg;         // mean of the gradient
    at::Tensor exp_avg_sq;      // mean of its square
    at::Tensor max_exp_avg_sq;  // undefined without amsgrad
    at::Tensor step;            // 0-d fp32, exact to 16 million
  };

  void step_on_cpu(const ParameterGroup& group, const Moments& moments, double rate) const {
    const double step = moments.step.item<double>();
    const bool is_decoupled = kind_ == WeightDecay::Decoupled;
    const AdamCoefficients coefficients{.new_mean = static_cast<float>(1.0 - beta1_),
                                        .beta2 = static_cast<float>(beta2_),
                                        .new_square = static_cast<float>(1.0 - beta2_),
                                        .eps = static_cast<float>(eps_),
                                        .keep = is_decoupled ? static_cast<float>(1.0 - rate * weight_decay_) : 1.0F,
                                        .decay = is_decoupled ? 0.0F : static_cast<float>(weight_decay_),
                                        .step_size = static_cast<float>(rate / (1.0 - std::pow(beta1_, step))),
                                        .root_scale = static_cast<float>(std::sqrt(1.0 - std::pow(beta2_, step)))};
    const AdamArrays arrays{group.values.mutable_data_ptr<float>(), group.gradients.const_data_ptr<float>(),
                            moments.exp_avg.mutable_data_ptr<float>(), moments.exp_avg_sq.mutable_data_ptr<float>(),
                            is_amsgrad_ ? moments.max_exp_avg_sq.mutable_data_ptr<float>() : nullptr};
    tensor::for_ranges(group.values.numel(), kPiece,
                       [&](int64_t begin, int64_t end) { adam_step(arrays, begin, end, coefficients); });
  }

  // libtorch's own fused kernel: one launch a group, on GPUs of either maker.
  void step_on_device(const ParameterGroup& group, const Moments& moments, double rate) const {
    using FusedStep = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                           at::TensorList, double, double, double, double, double, bool, bool,
                           const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);
    const std::vector<at::Tensor> maxima =
        is_amsgrad_ ? std::vector{moments.max_exp_avg_sq} : std::vector<at::Tensor>{};
    const auto fused = kind_ == WeightDecay::Decoupled ? static_cast<FusedStep*>(&at::_fused_adamw_)
                                                       : static_cast<FusedStep*>(&at::_fused_adam_);
    fused({group.values}, {group.gradients}, {moments.exp_avg}, {moments.exp_avg_sq}, maxima, {moments.step}, rate,
          beta1_, beta2_, weight_decay_, eps_, is_amsgrad_, /*maximize=*/false, {}, {});
  }

  FlatParameters& parameters_;
  double beta1_ = 0.9;
  double beta2_ = 0.999;
  double eps_;
  double weight_decay_;
  bool is_amsgrad_;
  WeightDecay kind_;
  std::vector<Moments> moments_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(FlatParameters& parameters, const schema::Values& values, WeightDecay kind) {
  return std::make_unique<Adam>(parameters, values, kind);
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
