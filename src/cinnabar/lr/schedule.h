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
// The learning rate of step `step` for parameters whose base rate is `base_rate`: some schedules end at, or consist of,
// absolute rates.
using Rates = std::function<double(int64_t step, double base_rate)>;

// Throws Error{Config} for settings that do not fit the schedule.
using MakeSchedule = std::function<Schedule(const ScheduleRequest&)>;
using MakeRates = std::function<Rates(const ScheduleRequest&)>;

struct Entry {
  std::string help;
  std::vector<schema::Option> options{};  // keys of lr_scheduler_args
  MakeSchedule make{};                    // either this
  MakeRates make_rates{};                 // or this
  // Python module of a class that lr_scheduler_type names ("torch.optim.lr_scheduler"); empty: a name of lr_scheduler.
  std::string module{};
};

base::Registry<Entry>& entries();

// By name, with `lr_scheduler_args` as the user gave them. Throws Error{Config}. The first gives factors on
// `request.learning_rate`.
Schedule make_schedule(const std::string& name, ScheduleRequest request, const std::vector<std::string>& arguments);

Rates make_rates(const std::string& name, ScheduleRequest request, const std::vector<std::string>& arguments);

// From the options of a run: lr_scheduler, lr_scheduler_type, lr_warmup_steps, lr_decay_steps, lr_scheduler_* and
// learning_rate. Throws Error{Config}.
Rates rates_from(const schema::Values& options, int64_t total_steps);

// Name of the entry that a value of lr_scheduler_type means: "StepLR" or "torch.optim.lr_scheduler.StepLR". Throws
// Error{Config} that names those that there are.
std::string class_entry(const std::string& scheduler_type);

// x/W for x < W, and nothing from then on.
std::optional<double> warmup_factor(const ScheduleRequest& request, int64_t step);
// Share of the steps after the warm-up that is done: (x - W) / (N - W), without a limit at 1.
double progress_after_warmup(const ScheduleRequest& request, int64_t step);

}  // namespace cinnabar::lr

#define CINNABAR_REGISTER_SCHEDULE(identifier, ...)    \
  static const bool registered_schedule_##identifier = \
      ::cinnabar::lr::entries().add(#identifier, ::cinnabar::lr::Entry __VA_ARGS__)
