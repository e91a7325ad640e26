// Options that were given and do nothing, since what they belong to is off.
#include <array>

#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

struct Pair {
  const char* name;
  const char* needed;  // the option without which it does nothing
};

constexpr std::array kPairs = {
    Pair{"ema_save_raw", "ema"}, Pair{"ema_decay", "ema"}, Pair{"noise_offset_random_strength", "noise_offset"},
    Pair{"ip_noise_gamma_random_strength", "ip_noise_gamma"}, Pair{"train_more_steps", "resume"}};

bool is_off(const Value& value) {
  const std::string text = value_text(value);
  return text.empty() || text == "false" || text == "0" || text == "0.0" || text == "none";
}

}  // namespace

std::vector<std::string> idle_options(const Schema& schema, const Config& config,
                                      const std::map<std::string, Given>& given) {
  std::vector<std::string> notices;
  // Records of runs hold every option: one at its default was not asked for.
  const auto is_given = [&](const char* name) {
    const auto found = given.find(name);
    const Option* option = schema.find(name);
    if (found == given.end() || option == nullptr || is_off(config.values.raw(name))) return false;
    return found->second.where == "command line" || value_text(option->fallback) != value_text(config.values.raw(name));
  };
  if (config.command != "train") return notices;
  for (const Pair& pair : kPairs) {
    if (!is_given(pair.name) || !is_off(config.values.raw(pair.needed))) continue;
    notices.push_back(std::string(pair.name) + " has no effect without " + pair.needed + ".");
  }
  if (is_given("lr_scheduler") && is_given("lr_scheduler_type"))
    notices.push_back("lr_scheduler has no effect: lr_scheduler_type counts.");
  return notices;
}

}  // namespace cinnabar::schema
