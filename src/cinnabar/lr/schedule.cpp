#include "cinnabar/lr/schedule.h"

#include <algorithm>
#include <utility>

#include "cinnabar/base/text_match.h"
#include "cinnabar/schema/key_values.h"

namespace cinnabar::lr {

base::Registry<Entry>& entries() {
  static base::Registry<Entry> registry("lr_scheduler");
  return registry;
}

namespace {

void complete(ScheduleRequest& request, const std::string& name, const std::vector<std::string>& arguments) {
  const Entry& entry = entries().at(name);
  request.arguments = schema::read_key_values("lr_scheduler_args", arguments, entry.options);
  if (entry.module.empty() || request.warmup_steps == 0) return;
  throw base::Error(base::ErrorCode::Config, "lr_scheduler_type " + name + " has no warm-up, but lr_warmup_steps is " +
                                                 std::to_string(request.warmup_steps) + "; leave it out");
}

}  // namespace

Schedule make_schedule(const std::string& name, ScheduleRequest request, const std::vector<std::string>& arguments) {
  const double base_rate = request.learning_rate;
  const Entry& entry = entries().at(name);
  if (entry.make) {
    complete(request, name, arguments);
    return entry.make(request);
  }
  const Rates rates = make_rates(name, std::move(request), arguments);
  return [rates, base_rate](int64_t step) { return rates(step, base_rate) / base_rate; };
}

Rates make_rates(const std::string& name, ScheduleRequest request, const std::vector<std::string>& arguments) {
  const Entry& entry = entries().at(name);
  complete(request, name, arguments);
  if (entry.make_rates) return entry.make_rates(request);
  const Schedule factor = entry.make(request);
  return [factor](int64_t step, double base_rate) { return base_rate * factor(step); };
}

std::string class_entry(const std::string& scheduler_type) {
  std::string known;
  std::vector<std::string> names;
  for (const std::string& name : entries().names()) {
    const Entry& entry = entries().at(name);
    if (entry.module.empty()) continue;
    if (scheduler_type == name || scheduler_type == entry.module + "." + name) return name;
    names.push_back(name);
    known += (known.empty() ? "" : ", ") + name;
  }
  const std::string near = base::nearest_name(scheduler_type.substr(scheduler_type.rfind('.') + 1), names);
  throw base::Error(base::ErrorCode::Config,
                    "lr_scheduler_type = \"" + scheduler_type + "\": Python classes are not loaded here" +
                        (near.empty() ? "" : "; did you mean \"" + near + "\"?") + " Built in: " + known);
}

Rates rates_from(const schema::Values& options, int64_t total_steps) {
  ScheduleRequest request{.total_steps = total_steps};
  request.warmup_steps = options.steps("lr_warmup_steps", total_steps);
  request.decay_steps = options.steps("lr_decay_steps", total_steps);
  request.learning_rate = options.maybe_number("learning_rate").value_or(request.learning_rate);
  request.cycles = options.maybe_integer("lr_scheduler_num_cycles").value_or(request.cycles);
  request.power = options.maybe_number("lr_scheduler_power").value_or(request.power);
  request.timescale = options.maybe_integer("lr_scheduler_timescale");
  request.min_lr_ratio = options.maybe_number("lr_scheduler_min_lr_ratio");
  const std::vector<std::string> arguments = options.texts("lr_scheduler_args");
  const std::string type = options.maybe_text("lr_scheduler_type").value_or("");
  if (!type.empty()) return make_rates(class_entry(type), request, arguments);
  return make_rates(options.maybe_text("lr_scheduler").value_or("constant"), request, arguments);
}

std::optional<double> warmup_factor(const ScheduleRequest& request, int64_t step) {
  if (step >= request.warmup_steps) return std::nullopt;
  return static_cast<double>(step) / static_cast<double>(std::max<int64_t>(1, request.warmup_steps));
}

double progress_after_warmup(const ScheduleRequest& request, int64_t step) {
  const int64_t length = std::max<int64_t>(1, request.total_steps - request.warmup_steps);
  return static_cast<double>(step - request.warmup_steps) / static_cast<double>(length);
}

}  // namespace cinnabar::lr
