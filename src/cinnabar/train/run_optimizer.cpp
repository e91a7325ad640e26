#include "cinnabar/train/run_optimizer.h"

#include "cinnabar/optim/run_rules.h"

namespace cinnabar::train {

RunOptimizer make_run_optimizer(schema::Values& values, optim::FlatParameters& parameters, int64_t total_steps,
                                base::EventSink& events) {
  optim::RunRules rules{.values = values};
  for (const optim::ParameterGroup& group : parameters.groups()) rules.rates.push_back(group.lr);
  optim::apply_rules(rules);
  for (const std::string& notice : rules.notices) events.log(notice);
  RunOptimizer result;
  result.optimizer = optim::make_optimizer(values.maybe_text("optimizer_type").value_or(""),
                                           values.texts("optimizer_args"), parameters);
  if (rules.is_schedule_constant) {
    result.rates = [](int64_t /*step*/, double base_rate) { return base_rate; };
  } else {
    result.rates = lr::rates_from(values, total_steps);
  }
  return result;
}

void report_rates(const optim::Optimizer& optimizer, const optim::FlatParameters& parameters,
                  std::span<const double> rates, StepReport& report) {
  const std::vector<double> effective = optimizer.effective_rates(rates);
  for (size_t i = 0; i < effective.size(); ++i) report.rates.emplace_back(parameters.groups()[i].name, effective[i]);
  const std::optional<double> estimate = optimizer.step_estimate();
  if (!estimate) return;
  for (size_t i = 0; i < effective.size(); ++i) {
    const double seen = *estimate * effective[i];
    report.more.emplace_back("lr/d*lr/" + parameters.groups()[i].name, seen);
    // The reference writes every group but the first a second time, under its number.
    if (i > 0) report.more.emplace_back("lr/d*lr/group" + std::to_string(i), seen);
  }
}

}  // namespace cinnabar::train
