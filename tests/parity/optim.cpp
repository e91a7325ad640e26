// optim/: parameters after each of the recorded steps, for every optimizer that is built.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/optimizer.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using nlohmann::json;

constexpr double kTolerance = 2e-6;  // optim/README.md: fp32 rounding over the recorded steps
// The reference sums in fp32 what decides d, so that d is known to 1e-4 of itself and the steps with it.
constexpr double kEstimateTolerance = 1e-4;
// bitsandbytes' own quantiser on the CPU looks codes up approximately: steps differ by parts of the rate, Lion's by
// signs, that is by twice the rate.
constexpr double kLibraryTolerance = 3e-3;
constexpr double kLibraryShare = 0.02;  // of the elements may be off by more than a tenth of the rate

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "torch.optim.adamw.AdamW" -> "adamw"; without a class, cases of bitsandbytes are named after it: "adamw8bit_wd".
// "" when no optimizer of ours is meant.
std::string entry_of(const std::string& name, const json& settings) {
  if (settings.contains("cls")) {
    for (const std::string& entry : optim::entries().names()) {
      if (optim::entries().at(entry).reference_class == settings.at("cls").get<std::string>()) return entry;
    }
    return "";
  }
  std::string word = lower_case(name.substr(0, name.find('_')));
  if (word.starts_with("sgd8bit")) word = "sgdnesterov8bit";
  return optim::entries().find(word) == nullptr ? "" : word;
}

std::string argument_text(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  std::string text = value.dump();
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '[' || c == ']' || c == '"'; }),
             text.end());
  return text;
}

struct Problem {
  optim::NamedTensors parameters;           // fresh copies
  std::map<std::string, at::Tensor> grads;  // [steps, ...]
  int64_t steps = 0;
};

// The order of the parameters is fixed by the reference run (optim/README.md); further names follow.
Problem load_problem(const GoldenTensors& golden) {
  Problem problem;
  for (const auto& [key, view] : golden.checkpoint().tensors()) {
    if (!key.starts_with("param0.")) continue;
    const std::string name = key.substr(7);
    problem.parameters.emplace_back(name, golden.at(key).clone());
    problem.grads[name] = golden.at("grad." + name);
    problem.steps = problem.grads[name].size(0);
  }
  return problem;
}

// Row of a trajectory after step `step` (from 0), or -1: large parameters are kept after the steps `kept` (from 1)
// alone.
int64_t row_of(const at::Tensor& trajectory, int64_t step, int64_t steps, const std::vector<int64_t>& kept) {
  if (trajectory.size(0) == steps) return step;
  const auto found = std::find(kept.begin(), kept.end(), step + 1);
  return found == kept.end() ? -1 : found - kept.begin();
}

struct Case {
  std::string name;    // of the results
  std::string prefix;  // of the trajectories' tensors
  std::string entry;
  double lr = 0.0;
  std::vector<std::string> arguments;
  std::vector<double> estimates;  // d after each step, for those that have one
  double tolerance = kTolerance;
  double large_from = 1e-5;  // what counts as large in Found
};

Case case_of(const std::string& name, const json& settings) {
  Case result{.name = "trajectories/" + name, .prefix = name, .entry = entry_of(name, settings)};
  const bool is_8bit = settings.value("library", "") == "bitsandbytes";
  for (const auto& [key, value] : settings.at("kwargs").items()) {
    if (key != "lr") {
      result.arguments.push_back(key + "=" + argument_text(value));
    } else if (!value.is_null()) {
      result.lr = value.get<double>();
    }
  }
  result.estimates = settings.value("d_per_step", std::vector<double>{});
  if (!is_8bit) return result;
  result.tolerance =
      std::max(kLibraryTolerance, result.entry.find("lion") != std::string::npos ? 4 * result.lr : result.lr);
  result.large_from = result.lr / 10;
  // optim/README.md: all tensors have 8-bit state but in the cases named so.
  if (!name.ends_with("_default_min") && !settings.at("kwargs").contains("min_8bit_size")) {
    result.arguments.emplace_back("min_8bit_size=0");
  }
  return result;
}

// What was found of one parameter.
struct Found {
  double error = 0.0;
  int64_t large = 0;     // elements off by more than the case's `large_from`
  int64_t elements = 0;  // compared
  double share() const { return static_cast<double>(large) / static_cast<double>(elements); }
};

void compare(const at::Tensor& found, const at::Tensor& expected, const Case& test, const at::Tensor& start,
             Found& result) {
  // The way from the start is known as well as d is.
  const double moved = test.estimates.empty() ? 0.0 : largest_difference(expected, start);
  const double scale = std::max(1.0, moved * kEstimateTolerance / kTolerance);
  result.error = std::max(result.error, largest_difference(found, expected) / scale);
  result.large += ((found - expected).abs() > test.large_from).sum().item<int64_t>();
  result.elements += found.numel();
}

// Runs the case and reports what it has beside the trajectories: d, and the parameters in evaluation.
std::map<std::string, Found> run_case(const Case& test, const GoldenTensors& problem_file,
                                      const GoldenTensors& trajectories, const std::vector<int64_t>& kept,
                                      Reporter& reporter) {
  Problem problem = load_problem(problem_file);
  optim::FlatParameters flat;
  flat.add_group("all", test.lr, problem.parameters);
  const auto optimizer = optim::make_optimizer(test.entry, test.arguments, flat);
  std::map<std::string, Found> result;
  double estimate_error = 0.0;
  const bool has_estimate = !test.estimates.empty();
  for (int64_t step = 0; step < problem.steps; ++step) {
    flat.zero_gradients();
    for (const auto& [parameter_name, parameter] : problem.parameters) {
      // Through autograd, so that the accumulation into the flat buffer is part of what is compared.
      const at::Tensor weight = problem.grads.at(parameter_name).select(0, step);
      (parameter * weight).sum().backward();
    }
    const std::vector<double> rates{test.lr};
    optimizer->step(rates);
    if (has_estimate) {
      const double expected = test.estimates.at(static_cast<size_t>(step));
      const double difference = std::abs(optimizer->step_estimate().value_or(NAN) - expected) / expected;
      estimate_error = std::isnan(difference) ? difference : std::max(estimate_error, difference);
    }
    for (const auto& [parameter_name, parameter] : problem.parameters) {
      const at::Tensor trajectory = trajectories.at(test.prefix + "." + parameter_name);
      const int64_t row = row_of(trajectory, step, problem.steps, kept);
      if (row < 0) continue;
      const at::Tensor expected = trajectory.select(0, row);
      compare(parameter.detach(), expected, test, problem_file.at("param0." + parameter_name), result[parameter_name]);
    }
  }
  if (has_estimate) reporter.result(test.name + ".d", estimate_error, kEstimateTolerance, "relative");
  optimizer->enter_evaluation();
  for (const auto& [parameter_name, parameter] : problem.parameters) {
    const std::string key = test.prefix + ".eval." + parameter_name;
    if (!trajectories.has(key)) continue;
    reporter.result("trajectories/" + key, largest_difference(parameter.detach(), trajectories.at(key)), kTolerance);
  }
  return result;
}

void run_trajectories(const std::filesystem::path& folder, Reporter& reporter) {
  const json cases = read_json(folder / "trajectories.json");
  const GoldenTensors problem(folder / "problem.safetensors");
  const GoldenTensors trajectories(folder / "trajectories.safetensors");
  const auto kept = cases.value("big_steps_kept", std::vector<int64_t>{});
  for (const auto& [name, settings] : cases.items()) {
    if (!settings.is_object()) continue;
    const Case test = case_of(name, settings);
    if (test.entry.empty()) {
      reporter.skip(test.name, "no such optimizer yet");
      continue;
    }
    for (const auto& [parameter, found] : run_case(test, problem, trajectories, kept, reporter)) {
      reporter.result(test.name + "." + parameter, found.error, test.tolerance);
      if (test.tolerance == kTolerance) continue;
      reporter.result(test.name + "." + parameter + ".share", found.share(), kLibraryShare, "above rate / 10");
    }
  }
  if (!std::filesystem::exists(folder / "adamw8bit_emulated.safetensors")) return;
  // The same algorithm with exact codes, made with the settings of "adamw8bit".
  const GoldenTensors emulated(folder / "adamw8bit_emulated.safetensors");
  Case test = case_of("adamw8bit", cases.at("adamw8bit"));
  test.prefix = "emulated_adamw8bit";
  test.large_from = 1e-5;
  for (const auto& [parameter, found] : run_case(test, problem, emulated, kept, reporter)) {
    // A value between two codes may fall to either side, which later steps show.
    const std::string name = "adamw8bit_emulated." + parameter;
    reporter.result(name, found.error, 1e-3, std::to_string(found.large) + " elements above 1e-5");
    reporter.result(name + ".share", found.share(), kLibraryShare, "above 1e-5");
  }
}

}  // namespace

CINNABAR_PARITY_GROUP(optim_trajectories, "optim.trajectories", run_trajectories);

}  // namespace cinnabar::parity
