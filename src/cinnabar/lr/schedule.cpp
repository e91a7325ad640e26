#include "cinnabar/lr/schedule.h"

#include <algorithm>

#include "cinnabar/schema/key_values.h"

namespace cinnabar::lr {

base::Registry<Entry>& entries() {
  static base::Registry<Entry> registry("lr_scheduler");
  return registry;
}

Schedule make_schedule(const std::string& name, ScheduleRequest request, const std::vector<std::string>& arguments) {
  const Entry& entry = entries().at(name);
  request.arguments = schema::read_key_values("lr_scheduler_args", arguments, entry.options);
  return entry.make(request);
}

Schedule schedule_from(const schema::Values& options, int64_t total_steps) {
  ScheduleRequest request{.total_steps = total_steps};
  request.warmup_steps = options.steps("lr_warmup_steps", total_steps);
  request.decay_steps = options.steps("lr_decay_steps", total_steps);
  request.learning_rate = options.maybe_number("learning_rate").value_or(request.learning_rate);
  request.cycles = options.maybe_integer("lr_scheduler_num_cycles").value_or(request.cycles);
  request.power = options.maybe_number("lr_scheduler_power").value_or(request.power);
  request.timescale = options.maybe_integer("lr_scheduler_timescale");
  request.min_lr_ratio = options.maybe_number("lr_scheduler_min_lr_ratio");
  return make_schedule(options.maybe_text("lr_scheduler").value_or("constant"), request,
                       options.texts("lr_scheduler_args"));
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
