#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/schedule_free.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace cinnabar::optim {

namespace {

std::vector<std::string> number_names(const FlatParameters& parameters) {
  std::vector<std::string> names{"is_evaluating"};
  for (const ParameterGroup& group : parameters.groups()) {
    for (const char* name : {"step.", "largest_rate.", "weight_sum."}) names.push_back(name + group.name);
  }
  return names;
}

}  // namespace

ScheduleFree::ScheduleFree(FlatParameters& parameters, const Settings& settings, bool has_squares)
    : BufferedOptimizer(parameters,
                        has_squares ? std::vector<std::string>{"z", "exp_avg_sq"} : std::vector<std::string>{"z"},
                        number_names(parameters)),
      settings_(settings),
      has_squares_(has_squares) {
  for (size_t g = 0; g < groups().size(); ++g) group_number(g, 1) = -1.0;
}

ScheduleFree::Settings ScheduleFree::read_settings(const schema::Values& values) {
  return {.decay = values.number("weight_decay"),
          .r = values.number("r"),
          .weight_lr_power = values.number("weight_lr_power"),
          .warmup_steps = values.maybe_integer("warmup_steps").value_or(0)};
}

double ScheduleFree::step_rate(double rate, double step) const {
  const auto warmup = static_cast<double>(settings_.warmup_steps);
  return step <= warmup ? rate * (step / warmup) : rate;
}

void ScheduleFree::step(std::span<const double> rates) {
  CINNABAR_ASSERT(rates.size() == groups().size() && !is_evaluating());
  const at::NoGradGuard no_grad;
  for (size_t g = 0; g < groups().size(); ++g) step_group(g, rates[g]);
}

void ScheduleFree::step_group(size_t index, double base_rate) {
  const ParameterGroup& group = groups()[index];
  const double step = group_number(index, 0) += 1.0;
  if (step == 1.0) buffer(index, 0).copy_(group.values);
  const double rate = step_rate(base_rate, step);
  double& largest = group_number(index, 1);
  largest = std::max(largest, rate);
  const double weight = std::pow(step, settings_.r) * std::pow(largest, settings_.weight_lr_power);
  double& weight_sum = group_number(index, 2);
  weight_sum += weight;
  const double share = weight_sum == 0.0 ? 0.0 : weight / weight_sum;
  const double y_factor = rate * (settings_.interpolation * (1.0 - share) - 1.0);
  for_pieces(group.values, whole(group), [&](int64_t begin, int64_t count) {
    at::Tensor y = group.values.narrow(0, begin, count);
    at::Tensor z = buffer(index, 0).narrow(0, begin, count);
    const at::Tensor squares = has_squares_ ? buffer(index, 1).narrow(0, begin, count) : at::Tensor();
    at::Tensor way = direction(group.gradients.narrow(0, begin, count), squares, step);
    if (settings_.decay != 0.0) way = way.add(y, settings_.decay);
    y.lerp_(z, share).add_(way, y_factor);
    z.sub_(way, rate);
  });
}

void ScheduleFree::move_values(double share) const {
  const at::NoGradGuard no_grad;
  for (size_t g = 0; g < groups().size(); ++g) {
    const ParameterGroup& group = groups()[g];
    if (group_number(g, 0) == 0.0) continue;  // no step yet: x is y
    for_pieces(group.values, whole(group), [&](int64_t begin, int64_t count) {
      group.values.narrow(0, begin, count).lerp_(buffer(g, 0).narrow(0, begin, count), share);
    });
  }
}

void ScheduleFree::enter_evaluation() {
  if (is_evaluating()) return;
  number(0) = 1.0;
  move_values(1.0 - 1.0 / settings_.interpolation);
}

void ScheduleFree::enter_training() {
  if (!is_evaluating()) return;
  number(0) = 0.0;
  move_values(1.0 - settings_.interpolation);
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
