#include "cinnabar/optim/arguments.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/run_rules.h"

namespace cinnabar::optim {

// Mishchenko and Defazio 2023, "Prodigy: an expeditiously adaptive parameter-free learner"; numbers as prodigyopt.
CINNABAR_REGISTER_OPTIMIZER(
    prodigy,
    {.label = "Prodigy",
     .help = "Adam that finds its learning rate itself: set the learning rate to 1.",
     .options =
         {betas_row({0.9, 0.999}),
          number_row({"beta3", "Beta 3",
                      "How much of the sums that the step size follows from is kept; the default is "
                      "the root of the second beta."},
                     std::nullopt, {0.0, 0.9999999}),
          positive_eps_row(1e-8), weight_decay_row(0.0),
          flag_row({"decouple", "Decoupled decay", "Weight decay apart from the gradient, as AdamW has it."}, true),
          flag_row({"use_bias_correction", "Bias correction",
                    "Adam's correction of its young means: smaller first steps."},
                   false),
          flag_row({"safeguard_warmup", "Safeguard warm-up",
                    "Keeps small rates of a warm-up from making the step size too large."},
                   false),
          first_estimate_row(),
          number_row({"d_coef", "Step size factor", "Multiplies the step size that is found; 0.5 to 2 are usual."}, 1.0,
                     {1e-6, 1e6}),
          growth_rate_row(),
          whole_row({"slice_p", "Sampling",
                     "Finds the step size from every slice_p-th element of each parameter, which saves memory."},
                    1, {1, 1e6})},
     .reference_class = "prodigyopt.prodigy.Prodigy",
     .aliases = {"prodigyopt.Prodigy"},
     .rules = refuse_different_rates});

}  // namespace cinnabar::optim

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

#include "cinnabar/optim/adaptive_rate.h"

namespace cinnabar::optim {

namespace {

// d the step size; m, v Adam's means of d g and (d g)^2; s a weighted sum of gradients; p0 the first parameters.
class Prodigy final : public AdaptiveRate {
 public:
  Prodigy(FlatParameters& parameters, const schema::Values& values)
      : AdaptiveRate(parameters, values, {"exp_avg", "exp_avg_sq"}, {"d_max", "d_numerator"}),
        betas_(checked_betas(values, 2)),
        beta3_(values.maybe_number("beta3").value_or(std::sqrt(betas_[1]))),
        eps_(values.number("eps")),
        decay_(values.number("weight_decay")),
        d_coef_(values.number("d_coef")),
        stride_(values.integer("slice_p")),
        is_decoupled_(values.flag("decouple")),
        has_bias_correction_(values.flag("use_bias_correction")),
        has_safeguard_(values.flag("safeguard_warmup")) {
    largest() = first_estimate();
    for (const ParameterGroup& group : groups()) make_samples(group);
  }

  NamedTensors state() override {
    NamedTensors result = AdaptiveRate::state();
    for (size_t g = 0; g < samples_.size(); ++g) {
      result.emplace_back("s." + groups()[g].name, samples_[g].sums);
      result.emplace_back("p0." + groups()[g].name, samples_[g].first_values);
    }
    return result;
  }

  void step(std::span<const double> rates) override {
    CINNABAR_ASSERT(rates.size() == groups().size());
    const at::NoGradGuard no_grad;
    const double rate = common_rate(rates);
    const double d = estimate();
    double correction = 1.0;
    if (has_bias_correction_) {
      const double next = steps_done() + 1.0;
      correction = std::sqrt(1.0 - std::pow(betas_[1], next)) / (1.0 - std::pow(betas_[0], next));
    }
    const double dlr = d * rate * correction;
    if (steps_done() == 0.0) keep_first_values();
    double numerator = d_numerator() * beta3_;
    double denominator = 0.0;
    for (size_t g = 0; g < groups().size(); ++g) {
      if (rates[g] == 0.0) continue;
      const std::vector<double> sums = gather(g, d, dlr);
      numerator += d / first_estimate() * dlr * sums[0];
      denominator += sums[1];
    }
    if (denominator == 0.0) return;  // no gradient yet
    grow(numerator, denominator);
    for (size_t g = 0; g < groups().size(); ++g) {
      if (rates[g] != 0.0) move(g, dlr);
    }
    steps_done() += 1.0;
  }

 private:
  // A stretch of parameters and the sampled elements of it: all of them, or every stride-th of one parameter.
  struct Range {
    Span span;
    int64_t sample = 0;  // where its samples begin
  };
  struct Samples {
    std::vector<Range> ranges;
    at::Tensor sums;          // s
    at::Tensor first_values;  // p0
  };

  double& largest() const { return number(2); }
  double& d_numerator() const { return number(3); }

  void make_samples(const ParameterGroup& group) {
    Samples& samples = samples_.emplace_back();
    int64_t count = 0;
    if (stride_ == 1) {
      samples.ranges.push_back({whole(group), 0});
      count = group.values.numel();
    } else {
      for (const ParameterSlot& slot : group.slots) {
        samples.ranges.push_back({{slot.offset, slot.offset + slot.count}, count});
        count += (slot.count + stride_ - 1) / stride_;
      }
    }
    samples.sums = at::zeros({count}, group.values.options());
    samples.first_values = at::zeros({count}, group.values.options());
  }

  // The sampled elements among [begin, begin + count) of `range`: in the piece from `first` on, in the samples at
  // `place`.
  struct Sampled {
    int64_t first;
    int64_t place;
    int64_t count;
  };
  Sampled sampled(const Range& range, int64_t begin, int64_t count) const {
    const int64_t local = begin - range.span.begin;
    const int64_t first = (stride_ - local % stride_) % stride_;
    const int64_t left = std::max<int64_t>(0, count - first);
    return {std::min(first, count), range.sample + (local + first) / stride_, (left + stride_ - 1) / stride_};
  }
  at::Tensor pick(const at::Tensor& piece, const Sampled& at) const {
    return piece.slice(0, at.first, std::nullopt, stride_);
  }

  void keep_first_values() {
    for (size_t g = 0; g < groups().size(); ++g) {
      for (const Range& range : samples_[g].ranges) {
        const int64_t count = range.span.end - range.span.begin;
        const Sampled at = sampled(range, range.span.begin, count);
        samples_[g]
            .first_values.narrow(0, at.place, at.count)
            .copy_(pick(groups()[g].values.narrow(0, range.span.begin, count), at));
      }
    }
  }

  // Updates the means; returns the sum of g (p0 - p) and of |s|.
  std::vector<double> gather(size_t g, double d, double dlr) const {
    std::vector<double> sums(2, 0.0);
    for (const Range& range : samples_[g].ranges) {
      const auto work = [&](int64_t begin, int64_t count) {
        Piece piece = piece_of(g, begin, count);
        const at::Tensor gradients = decayed(piece.gradients, piece.values, is_decoupled_ ? 0.0 : decay_);
        if (betas_[0] > 0.0) piece.buffers[0].mul_(betas_[0]).add_(gradients, d * (1.0 - betas_[0]));
        piece.buffers[1].mul_(betas_[1]).addcmul_(gradients, gradients, d * d * (1.0 - betas_[1]));
        const Sampled at = sampled(range, begin, count);
        const at::Tensor picked = pick(gradients, at);
        at::Tensor s = samples_[g].sums.narrow(0, at.place, at.count);
        const at::Tensor way = samples_[g].first_values.narrow(0, at.place, at.count) - pick(piece.values, at);
        s.mul_(beta3_).add_(picked, d / first_estimate() * (has_safeguard_ ? d : dlr));
        return sums_of({picked * way, s.abs()});
      };
      const std::vector<double> own = sum_pieces(groups()[g].values, range.span, 2, work);
      sums[0] += own[0];
      sums[1] += own[1];
    }
    return sums;
  }

  void grow(double numerator, double denominator) const {
    double& d = estimate();
    const double found = d_coef_ * numerator / denominator;
    if (d == first_estimate()) d = std::max(d, found);
    largest() = std::max(largest(), found);
    d = std::min(largest(), d * growth_rate());
    d_numerator() = numerator;
  }

  void move(size_t g, double dlr) const {
    const double d = estimate();
    for_pieces(groups()[g].values, whole(groups()[g]), [&](int64_t begin, int64_t count) {
      Piece piece = piece_of(g, begin, count);
      const at::Tensor divisor = piece.buffers[1].sqrt().add_(d * eps_);
      // Before the decay: with beta1 = 0 the gradient is the step.
      const at::Tensor way =
          betas_[0] > 0.0 ? piece.buffers[0] : decayed(piece.gradients, piece.values, is_decoupled_ ? 0.0 : decay_);
      // Added, not multiplied: 1 - decay dlr is too near to 1 for fp32.
      if (decay_ != 0.0 && is_decoupled_) piece.values.add_(piece.values, -decay_ * dlr);
      piece.values.addcdiv_(way, divisor, betas_[0] > 0.0 ? -dlr : -dlr * d);
    });
  }

  std::vector<double> betas_;
  double beta3_;
  double eps_;
  double decay_;
  double d_coef_;
  int64_t stride_;
  bool is_decoupled_;
  bool has_bias_correction_;
  bool has_safeguard_;
  std::vector<Samples> samples_;  // by group
};

}  // namespace

CINNABAR_REGISTER_OPTIMIZER_FACTORY(prodigy, [](FlatParameters& parameters, const schema::Values& values) {
  return std::make_unique<Prodigy>(parameters, values);
});

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
