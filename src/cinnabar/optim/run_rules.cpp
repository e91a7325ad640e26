#include "cinnabar/optim/run_rules.h"

#include <algorithm>
#include <set>

#include "cinnabar/schema/value_text.h"

namespace cinnabar::optim {

namespace {

[[noreturn]] void fail(const std::string& message) { throw base::Error(base::ErrorCode::Config, message); }

std::string rate_list(const std::vector<double>& rates) {
  std::string text;
  for (const double rate : rates) text += (text.empty() ? "" : ", ") + schema::number_text(rate);
  return text;
}

bool has_different_rates(const RunRules& rules) {
  std::set<double> distinct(rules.rates.begin(), rules.rates.end());
  distinct.erase(0.0);
  return distinct.size() > 1;
}

// The old spellings name the optimizer when optimizer_type does not.
void resolve_type(schema::Values& values) {
  const std::string type = values.maybe_text("optimizer_type").value_or("");
  std::string meant;
  for (const auto& [flag, name] : {std::pair{"use_8bit_adam", "AdamW8bit"}, std::pair{"use_lion_optimizer", "Lion"}}) {
    if (!values.flag(flag)) continue;
    if (!meant.empty()) fail("use_8bit_adam and use_lion_optimizer are both given; leave one out");
    // AdamW is what stands here when nothing was given.
    if (!type.empty() && entry_name(type) != "adamw" && entry_name(type) != entry_name(name)) {
      fail(std::string(flag) + " means optimizer_type " + name + ", but optimizer_type is " + type + "; leave one out");
    }
    meant = name;
  }
  if (!meant.empty()) values.set("optimizer_type", meant);
}

void check_fused_backward(RunRules& rules, const std::string& name) {
  if (!rules.values.flag("fused_backward_pass")) return;
  if (name != "adafactor") {
    fail("fused_backward_pass works with optimizer_type Adafactor only, but optimizer_type is " +
         rules.values.maybe_text("optimizer_type").value_or("AdamW") + "; leave it out");
  }
  const int64_t accumulation = rules.values.maybe_integer("gradient_accumulation_steps").value_or(1);
  if (accumulation > 1) {
    fail("fused_backward_pass needs gradient_accumulation_steps 1, found " + std::to_string(accumulation));
  }
  rules.notices.push_back(
      "fused_backward_pass changes nothing when a network is trained: its gradients lie in one small buffer and are "
      "clipped together.");
}

}  // namespace

std::optional<std::string> given_argument(const schema::Values& values, const std::string& key) {
  for (const std::string& argument : values.texts("optimizer_args")) {
    const size_t equals = argument.find('=');
    if (equals != std::string::npos && argument.substr(0, equals) == key) return argument.substr(equals + 1);
  }
  return std::nullopt;
}

void set_argument(schema::Values& values, const std::string& key, const std::string& text) {
  std::vector<std::string> arguments = values.texts("optimizer_args");
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const std::string& argument) { return argument.starts_with(key + "="); });
  if (found == arguments.end()) {
    arguments.push_back(key + "=" + text);
  } else {
    *found = key + "=" + text;
  }
  values.set("optimizer_args", arguments);
}

void apply_rules(RunRules& rules) {
  resolve_type(rules.values);
  const std::string name = entry_name(rules.values.maybe_text("optimizer_type").value_or(""));
  check_fused_backward(rules, name);
  if (const auto& own = entries().at(name).rules) own(rules);
  const std::string schedule = rules.values.maybe_text("lr_scheduler").value_or("");
  if (schedule == "adafactor") {
    fail(
        "lr_scheduler = \"adafactor\" only reports the rate that Adafactor finds itself: it needs optimizer_type "
        "Adafactor with relative_step=True, but optimizer_type is " +
        rules.values.maybe_text("optimizer_type").value_or("AdamW") + "; choose another schedule");
  }
}

void say_paging_is_unneeded(RunRules& rules) {
  rules.notices.push_back(rules.values.maybe_text("optimizer_type").value_or("") +
                          ": nothing is paged here, since the state of all parameters lies in a few buffers; the "
                          "numbers are those of the optimizer without paging.");
}

void expect_rate_near_one(RunRules& rules) {
  if (rules.rates.empty() || rules.rates.front() > 0.1) return;
  rules.notices.push_back("The learning rate " + schema::number_text(rules.rates.front()) + " is low for " +
                          rules.values.maybe_text("optimizer_type").value_or("") +
                          ", which finds the step size itself and multiplies it by the learning rate: 1.0 is usual.");
}

void refuse_different_rates(RunRules& rules) {
  expect_rate_near_one(rules);
  if (!has_different_rates(rules)) return;
  fail(rules.values.maybe_text("optimizer_type").value_or("") +
       " finds one step size for all parameters: their learning rates must be equal or 0, found " +
       rate_list(rules.rates) + "; set unet_lr and text_encoder_lr to learning_rate and use no rate ratios");
}

void take_constant_schedule(RunRules& rules) {
  rules.is_schedule_constant = true;
  const std::string schedule = rules.values.maybe_text("lr_scheduler").value_or("constant");
  const bool has_schedule = schedule != "constant" || rules.values.has("lr_scheduler_type");
  if (!has_schedule && rules.values.steps("lr_warmup_steps", 1'000'000) == 0) return;
  rules.notices.push_back(rules.values.maybe_text("optimizer_type").value_or("") +
                          " needs no schedule: the learning rate stays as it is, and lr_scheduler and lr_warmup_steps "
                          "are not used. Its own warm-up is warmup_steps in optimizer_args.");
}

void give_momentum(RunRules& rules) {
  if (given_argument(rules.values, "momentum")) return;
  set_argument(rules.values, "momentum", "0.9");
  rules.notices.push_back(rules.values.maybe_text("optimizer_type").value_or("") +
                          " needs a momentum; it is 0.9, since optimizer_args gives none.");
}

}  // namespace cinnabar::optim
