// optim/: parameters after each of the recorded steps, for every optimizer that is built.
#include <ATen/ATen.h>

#include <algorithm>
#include <map>
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

// "torch.optim.adamw.AdamW" -> "adamw"; "" when no optimizer of ours has that class.
std::string entry_of_class(const std::string& reference_class) {
  for (const std::string& name : optim::entries().names()) {
    if (optim::entries().at(name).reference_class == reference_class) return name;
  }
  return "";
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

void run_case(const std::string& name, const std::string& entry, const json& settings,
              const GoldenTensors& problem_file, const GoldenTensors& trajectories, const std::vector<int64_t>& kept,
              Reporter& reporter) {
  Problem problem = load_problem(problem_file);
  double lr = 0.0;
  std::vector<std::string> arguments;
  for (const auto& [key, value] : settings.at("kwargs").items()) {
    if (key == "lr") {
      lr = value.get<double>();
    } else {
      arguments.push_back(key + "=" + argument_text(value));
    }
  }
  optim::FlatParameters flat;
  flat.add_group("all", lr, problem.parameters);
  const auto optimizer = optim::make_optimizer(entry, arguments, flat);
  std::map<std::string, double> errors;
  for (int64_t step = 0; step < problem.steps; ++step) {
    flat.zero_gradients();
    for (const auto& [parameter_name, parameter] : problem.parameters) {
      // Through autograd, so that the accumulation into the flat buffer is part of what is compared.
      const at::Tensor weight = problem.grads.at(parameter_name).select(0, step);
      (parameter * weight).sum().backward();
    }
    const std::vector<double> rates{lr};
    optimizer->step(rates);
    for (const auto& [parameter_name, parameter] : problem.parameters) {
      const at::Tensor trajectory = trajectories.at(name + "." + parameter_name);
      const int64_t row = row_of(trajectory, step, problem.steps, kept);
      if (row < 0) continue;
      double& error = errors[parameter_name];
      error = std::max(error, largest_difference(parameter.detach(), trajectory.select(0, row)));
    }
  }
  for (const auto& [parameter_name, error] : errors) {
    reporter.result("trajectories/" + name + "." + parameter_name, error, kTolerance);
  }
}

void run_trajectories(const std::filesystem::path& folder, Reporter& reporter) {
  const json cases = read_json(folder / "trajectories.json");
  const GoldenTensors problem(folder / "problem.safetensors");
  const GoldenTensors trajectories(folder / "trajectories.safetensors");
  const auto kept = cases.value("big_steps_kept", std::vector<int64_t>{});
  for (const auto& [name, settings] : cases.items()) {
    if (!settings.is_object()) continue;
    const std::string reference_class = settings.value("cls", settings.value("library", ""));
    const std::string entry = entry_of_class(reference_class);
    if (entry.empty()) {
      reporter.skip("trajectories/" + name, "no such optimizer yet");
    } else {
      run_case(name, entry, settings, problem, trajectories, kept, reporter);
    }
  }
  for (const char* other : {"adamw8bit_emulated", "blockwise_quant"}) {
    if (std::filesystem::exists(folder / (std::string(other) + ".safetensors"))) {
      reporter.skip(other, "no 8-bit optimizer yet");
    }
  }
}

}  // namespace

CINNABAR_PARITY_GROUP(optim_trajectories, "optim.trajectories", run_trajectories);

}  // namespace cinnabar::parity
