// Options that were given and do nothing, since what they belong to is off.
#include <algorithm>
#include <array>

#include "cinnabar/schema/condition.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

struct Need {
  const char* name;
  const char* condition;
};

// Beside the rows' own `shown_if`: a form that waited for these would never show the first of the two.
constexpr std::array kNeeds = {
    Need{"sample_prompts", "sample_every_n_steps or sample_every_n_epochs or sample_at_first"},
    Need{"train_more_steps", "resume"},
};

struct Overruled {
  const char* name;
  const char* by;
};

constexpr std::array kOverruled = {
    Overruled{"lr_scheduler", "lr_scheduler_type"},
    Overruled{"save_every_n_epochs", "save_n_epoch_ratio"},
};

constexpr std::array kExcluded = {
    Overruled{"text_encoder_lr", "network_train_unet_only"},
    Overruled{"unet_lr", "network_train_text_encoder_only"},
};

}  // namespace

std::vector<std::string> idle_options(const Schema& schema, const Config& config,
                                      const std::map<std::string, Given>& given) {
  std::vector<std::string> notices;
  // Records of runs hold every option: one at its default was not asked for.
  const auto is_given = [&](const std::string& name) {
    const auto found = given.find(name);
    const Option* option = schema.find(name);
    if (found == given.end() || option == nullptr || !is_on(config.values.raw(name))) return false;
    if (!found->second.is_asked) return false;
    return found->second.where == "command line" || value_text(option->fallback) != value_text(config.values.raw(name));
  };
  const auto check = [&](const std::string& name, const std::string& text) {
    if (text.empty() || !is_given(name)) return;
    const std::vector<Clause> condition = parse_condition(text);
    // What a GUI's file holds as a text becomes a file later.
    const bool is_attached = std::ranges::any_of(
        condition, [&](const Clause& clause) { return config.attachments.contains(clause.option); });
    if (!is_attached && !holds(condition, config.values)) {
      notices.push_back(name + " has no effect without " + condition_text(condition) + ".");
    }
  };
  if (config.command != "train") return notices;
  for (const Option& option : schema.options()) check(option.name, option.shown_if);
  for (const Need& need : kNeeds) check(need.name, need.condition);
  for (const Overruled& pair : kOverruled) {
    if (is_given(pair.name) && is_given(pair.by))
      notices.push_back(std::string(pair.name) + " has no effect: " + pair.by + " counts.");
  }
  for (const Overruled& pair : kExcluded) {
    if (is_given(pair.name) && is_given(pair.by))
      notices.push_back(std::string(pair.name) + " has no effect with " + pair.by + ".");
  }
  return notices;
}

}  // namespace cinnabar::schema
