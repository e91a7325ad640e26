// Options that were given and do nothing, since what they belong to is off.
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

}  // namespace

std::vector<std::string> idle_options(const Schema& schema, const Config& config,
                                      const std::map<std::string, Given>& given) {
  std::vector<std::string> notices;
  // Records of runs hold every option: one at its default was not asked for.
  const auto is_given = [&](const std::string& name) {
    const auto found = given.find(name);
    const Option* option = schema.find(name);
    if (found == given.end() || option == nullptr || !is_on(config.values.raw(name))) return false;
    return found->second.where == "command line" || value_text(option->fallback) != value_text(config.values.raw(name));
  };
  const auto check = [&](const std::string& name, const std::string& text) {
    if (text.empty() || !is_given(name)) return;
    const std::vector<Clause> condition = parse_condition(text);
    if (!holds(condition, config.values)) {
      notices.push_back(name + " has no effect without " + condition_text(condition) + ".");
    }
  };
  if (config.command != "train") return notices;
  for (const Option& option : schema.options()) check(option.name, option.shown_if);
  for (const Need& need : kNeeds) check(need.name, need.condition);
  if (is_given("lr_scheduler") && is_given("lr_scheduler_type"))
    notices.push_back("lr_scheduler has no effect: lr_scheduler_type counts.");
  return notices;
}

}  // namespace cinnabar::schema
