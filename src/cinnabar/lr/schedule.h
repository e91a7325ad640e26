// Learning-rate schedules: a factor on every group's learning rate as a function of the step (no torch).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::lr {

// N total, W warm-up, D decay, in optimizer steps (all processes counted, as in the reference).
struct ScheduleRequest {
  int64_t total_steps = 1;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 0;
  double learning_rate = 1e-4;           // for schedules that end at an absolute rate
  int64_t cycles = 1;                    // lr_scheduler_num_cycles
  double power = 1.0;                    // lr_scheduler_power
  std::optional<int64_t> timescale{};    // lr_scheduler_timescale
  std::optional<double> min_lr_ratio{};  // lr_scheduler_min_lr_ratio
  schema::Values arguments{};            // lr_scheduler_args, read against the entry's rows
};

// Factor of step `step`, counted from 0 over the whole run: a resumed run asks for the steps it makes, so there is no
// state to save.
using Schedule = std::function<double(int64_t step)>;

struct Entry {
  std::string help;
  std::vector<schema::Option> options{};  // keys of lr_scheduler_args
  // Throws Error{Config} for settings that do not fit the schedule.
  std::function<Schedule(const ScheduleRequest&)> make;
};

base::Registry<Entry>& entries();

// By name, with `lr_scheduler_args` as the user gave them. Throws Error{Config}.
Schedule make_schedule(const std::string& name, ScheduleRequest request, const std::vector<std::string>& arguments);

// From the options of a run: lr_scheduler, lr_warmup_steps, lr_decay_steps, lr_scheduler_* and learning_rate.
Schedule schedule_from(const schema::Values& options, int64_t total_steps);

// x/W for x < W, and nothing from then on.
std::optional<double> warmup_factor(const ScheduleRequest& request, int64_t step);
// Share of the steps after the warm-up that is done: (x - W) / (N - W), without a limit at 1.
double progress_after_warmup(const ScheduleRequest& request, int64_t step);

}  // namespace cinnabar::lr

#define CINNABAR_REGISTER_SCHEDULE(identifier, ...)    \
  static const bool registered_schedule_##identifier = \
      ::cinnabar::lr::entries().add(#identifier, ::cinnabar::lr::Entry __VA_ARGS__)
