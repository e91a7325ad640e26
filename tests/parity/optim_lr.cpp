// optim/lr_schedules.json: the learning rate before each step, for every schedule that is built.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cinnabar/lr/schedule.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using nlohmann::json;

// Relative to the largest rate of the case. Both sides compute in double.
constexpr double kTolerance = 1e-12;

// A share of all steps below 1, else a count, as the reference reads it.
int64_t step_count(const json& arguments, const char* key, int64_t total) {
  if (!arguments.contains(key)) return 0;
  const json& value = arguments.at(key);
  if (value.is_number_integer()) return value.get<int64_t>();
  return static_cast<int64_t>(value.get<double>() * static_cast<double>(total));
}

std::string case_name(const json& arguments) {
  std::string name = "lr";
  for (const auto& [key, value] : arguments.items()) name += " " + value.dump();
  name.erase(std::remove(name.begin(), name.end(), '"'), name.end());
  return name;
}

void run_case(const json& golden, Reporter& reporter) {
  const json& arguments = golden.at("args");
  const std::string name = case_name(arguments);
  const std::string schedule_name = arguments.value("lr_scheduler", "");
  if (arguments.contains("lr_scheduler_type") || lr::entries().find(schedule_name) == nullptr) {
    reporter.skip(name, "no such schedule yet");
    return;
  }
  lr::ScheduleRequest request{.total_steps = golden.at("max_train_steps")};
  request.warmup_steps = step_count(arguments, "lr_warmup_steps", request.total_steps);
  request.decay_steps = step_count(arguments, "lr_decay_steps", request.total_steps);
  request.learning_rate = golden.at("base_lr");
  request.cycles = arguments.value("lr_scheduler_num_cycles", request.cycles);
  request.power = arguments.value("lr_scheduler_power", request.power);
  if (arguments.contains("lr_scheduler_timescale")) request.timescale = arguments.at("lr_scheduler_timescale");
  if (arguments.contains("lr_scheduler_min_lr_ratio")) request.min_lr_ratio = arguments.at("lr_scheduler_min_lr_ratio");
  const lr::Schedule schedule =
      lr::make_schedule(schedule_name, request, arguments.value("lr_scheduler_args", std::vector<std::string>{}));
  const std::vector<double> expected = golden.at("lr");
  double error = 0.0;
  double largest = 0.0;
  for (size_t step = 0; step < expected.size(); ++step) {
    const double found = request.learning_rate * schedule(static_cast<int64_t>(step));
    const double difference = std::abs(found - expected[step]);
    error = std::isnan(difference) ? difference : std::max(error, difference);
    largest = std::max(largest, std::abs(expected[step]));
  }
  reporter.result(name, error / largest, kTolerance);
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  for (const json& golden : read_json(folder / "lr_schedules.json")) {
    if (golden.contains("lr")) {
      run_case(golden, reporter);
    } else {
      reporter.skip(case_name(golden.at("args")), "no such schedule yet");
    }
  }
}

}  // namespace

CINNABAR_PARITY_GROUP(optim_lr, "optim.lr", run);

}  // namespace cinnabar::parity
