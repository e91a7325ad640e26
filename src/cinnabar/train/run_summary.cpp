#include "cinnabar/train/run_summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "cinnabar/base/counted.h"

namespace cinnabar::train {

namespace {

std::string short_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

std::string precision_text(const schema::Values& values) {
  const std::string type = values.maybe_text("mixed_precision").value_or("no");
  std::string text = type == "no" ? "fp32" : type;
  for (const char* full : {"bf16", "fp16"}) {
    if (values.flag(std::string("full_") + full)) text += std::string(" with trained values in ") + full;
  }
  return text;
}

std::string network_text(const schema::Values& values) {
  std::string text = values.maybe_text("network_module").value_or("networks.lora");
  if (values.flag("dim_from_weights")) {
    text += " with the ranks of " + values.maybe_text("network_weights").value_or("network_weights");
  } else {
    text += ", rank " + std::to_string(values.maybe_integer("network_dim").value_or(4)) + ", alpha " +
            short_number(values.maybe_number("network_alpha").value_or(1.0));
  }
  for (const std::string& argument : values.texts("network_args")) text += ", " + argument;
  return text;
}

// Groups of one rate are told as one.
std::string rates_text(const std::vector<std::pair<std::string, double>>& rates) {
  std::string text;
  const bool is_one = std::ranges::all_of(rates, [&](const auto& one) { return one.second == rates.front().second; });
  constexpr size_t kMostShown = 4;
  for (size_t i = 0; i < std::min(kMostShown, rates.size()); ++i) {
    text += (i == 0 ? "" : ", ") + short_number(rates[i].second) + (is_one ? "" : " (" + rates[i].first + ")");
    if (is_one) return text;
  }
  return text + (rates.size() > kMostShown ? " and others" : "");
}

std::string schedule_of(const schema::Values& values) {
  const std::string type = values.maybe_text("lr_scheduler_type").value_or("");
  return type.empty() ? values.maybe_text("lr_scheduler").value_or("constant") : type;
}

}  // namespace

std::vector<std::string> summary_lines(const SummaryFacts& facts) {
  const schema::Values& values = facts.values;
  const int64_t warmup = values.steps("lr_warmup_steps", facts.steps);
  std::vector<std::string> lines = {
      "Model: " + values.text("pretrained_model_name_or_path") + ", family " + facts.family + ", predicts " +
          facts.prediction + "; " + precision_text(values) + " on " + facts.device + ".",
      "Network: " + network_text(values) + "; " + std::to_string(facts.layers) + " layers, " +
          std::to_string(facts.parameters) + " parameters.",
      "Optimizer: " + (facts.optimizer.empty() ? "AdamW" : facts.optimizer) + ", learning rate " +
          rates_text(facts.rates) + "; schedule " + schedule_of(values) +
          (warmup > 0 ? " with " + base::counted(warmup, "step") + " of warm-up" : "") + "."};
  const bool is_half = values.maybe_text("mixed_precision").value_or("no") != "no";
  if (is_half && facts.device.starts_with("cpu")) {
    lines.push_back("On the CPU steps in " + precision_text(values) +
                    " take longer than in fp32; without mixed_precision they are several times as fast.");
  }
  return lines;
}

std::string warmup_warning(const schema::Values& values, int64_t steps) {
  const int64_t warmup = values.steps("lr_warmup_steps", steps);
  constexpr std::array<std::string_view, 3> kWithout = {"constant", "adafactor", "piecewise_constant"};
  const std::string schedule = schedule_of(values);
  const bool has_warmup = values.maybe_text("lr_scheduler_type").value_or("").empty() &&
                          std::ranges::find(kWithout, schedule) == kWithout.end();
  if (!has_warmup || warmup < steps || steps == 0) return {};
  return "lr_warmup_steps is " + std::to_string(warmup) + ", and the run has " + base::counted(steps, "step") +
         ": it ends within the warm-up, at " +
         std::to_string(static_cast<int64_t>(100.0 * static_cast<double>(steps) / static_cast<double>(warmup))) +
         " % of the learning rate. Lower lr_warmup_steps; 0.1 means a tenth of the run";
}

}  // namespace cinnabar::train
