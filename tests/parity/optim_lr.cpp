// optim/lr_schedules.json: the learning rate before each step, for every schedule that is built.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "cinnabar/lr/schedule.h"
#include "cinnabar/optim/optimizer.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using nlohmann::json;

// Relative to the largest rate of the case. Both sides compute in double.
constexpr double kTolerance = 1e-12;
// Classes of PyTorch go from one step to the next by products, which adds up their rounding.
constexpr double kClassTolerance = 1e-11;
constexpr double kFloatTolerance = 1e-6;  // the size of a parameter is an fp32 sum

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

double largest_relative_error(const std::vector<double>& found, const std::vector<double>& expected) {
  double error = found.size() == expected.size() ? 0.0 : INFINITY;
  double largest = 0.0;
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    const double difference = std::abs(found[i] - expected[i]);
    error = std::isnan(difference) ? difference : std::max(error, difference);
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error / largest;
}

// The entry of a class ("StepLR" or with its module); "" when there is none.
std::string class_entry_or_none(const std::string& type) {
  try {
    return lr::class_entry(type);
  } catch (const base::Error&) {
    return "";
  }
}

void run_case(const json& golden, Reporter& reporter) {
  const json& arguments = golden.at("args");
  const std::string name = case_name(arguments);
  const bool is_class = arguments.contains("lr_scheduler_type");
  const std::string schedule_name =
      is_class ? class_entry_or_none(arguments.at("lr_scheduler_type")) : arguments.value("lr_scheduler", "");
  if (lr::entries().find(schedule_name) == nullptr) {
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
  const lr::Rates rates =
      lr::make_rates(schedule_name, request, arguments.value("lr_scheduler_args", std::vector<std::string>{}));
  const std::vector<double> expected = golden.at("lr");
  std::vector<double> found;
  for (size_t step = 0; step < expected.size(); ++step) {
    found.push_back(rates(static_cast<int64_t>(step), request.learning_rate));
  }
  reporter.result(name, largest_relative_error(found, expected), is_class ? kClassTolerance : kTolerance);
}

// What step() of a class returns: the rates of the steps after the first one. Its settings stand among the options.
void run_returned(const json& golden, Reporter& reporter) {
  const json& arguments = golden.at("args");
  const std::string name = case_name(arguments);
  const std::string entry = class_entry_or_none(arguments.at("lr_scheduler_type"));
  if (entry.empty()) return reporter.skip(name, "no such schedule yet");
  std::vector<std::string> own;
  for (const auto& [key, value] : arguments.items()) {
    if (key != "lr_scheduler_type") own.push_back(key + "=" + value.dump());
  }
  const lr::Rates rates = lr::make_rates(entry, {}, own);
  const std::vector<double> expected = golden.at("returned_by_step");
  std::vector<double> found;
  for (size_t step = 0; step < expected.size(); ++step) found.push_back(rates(static_cast<int64_t>(step) + 1, 1.0));
  reporter.result(name, largest_relative_error(found, expected), kTolerance);
}

// Adafactor's own rates on one parameter, which the case describes in words: "4x4 filled with 0.5, constant gradient
// 0.1".
void run_adafactor(const json& golden, Reporter& reporter) {
  const json& arguments = golden.at("args");
  const std::string name = case_name(arguments);
  std::smatch words;
  const std::string text = arguments.at("param");
  if (!std::regex_search(text, words,
                         std::regex(R"((\d+)x(\d+) filled with ([\d.e-]+), constant gradient ([\d.e-]+))"))) {
    return reporter.fail(name, "cannot read \"" + text + "\"");
  }
  at::Tensor weight = at::full({std::stoll(words[1]), std::stoll(words[2])}, std::stod(words[3]));
  optim::FlatParameters flat;
  flat.add_group("all", 0.0, {{"weight", weight}});
  std::vector<std::string> own;
  for (const char* key : {"relative_step", "scale_parameter", "warmup_init"}) {
    if (arguments.contains(key)) own.push_back(std::string(key) + (arguments.at(key).get<bool>() ? "=True" : "=False"));
  }
  const auto optimizer = optim::make_optimizer("Adafactor", own, flat);
  const std::vector<double> expected = golden.at("lr_used_at_each_step");
  std::vector<double> found;
  const std::vector<double> given{0.0};
  for (size_t step = 0; step < expected.size(); ++step) {
    flat.gradient("weight").fill_(std::stod(words[4]));
    optimizer->step(given);
    found.push_back(optimizer->effective_rates(given).front());
  }
  reporter.result(name, largest_relative_error(found, expected), kFloatTolerance);
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  for (const json& golden : read_json(folder / "lr_schedules.json")) {
    if (golden.contains("lr")) {
      run_case(golden, reporter);
    } else if (golden.contains("lr_used_at_each_step")) {
      run_adafactor(golden, reporter);
    } else if (golden.contains("returned_by_step")) {
      run_returned(golden, reporter);
    } else {
      reporter.skip(case_name(golden.at("args")), "no rates in this case");
    }
  }
}

}  // namespace

CINNABAR_PARITY_GROUP(optim_lr, "optim.lr", run);

}  // namespace cinnabar::parity
