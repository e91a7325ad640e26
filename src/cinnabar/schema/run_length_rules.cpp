#include "cinnabar/schema/run_length_rules.h"

#include <algorithm>

#include "cinnabar/schema/kohya_steps.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

using GivenMap = std::map<std::string, Given>;

const Given* find_set(const GivenMap& given, const std::string& name) {
  const auto found = given.find(name);
  return found == given.end() || found->second.value.index() == 0 ? nullptr : &found->second;
}

std::string text_of(const GivenMap& given, const std::string& name) {
  const Given* found = find_set(given, name);
  return found == nullptr ? std::string() : value_text(found->value);
}

double count_of(const GivenMap& given, const std::string& name) {
  return std::max(1.0, parse_number(text_of(given, name)).value_or(1.0));
}

// The GUI appends additional_parameters to the command line that its other fields make: one level.
size_t level_of(const std::vector<Source>& sources, const std::string& name) {
  size_t level = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Given* found = find_set(sources[i].values, name);
    if (found == nullptr) continue;
    level = i > 0 && found->where == "additional_parameters" ? i - 1 : i;
  }
  return level;
}

std::string shown(const std::string& name, const Given& given) {
  return name + " = " + given.text + " (" + given.where + ")";
}

std::vector<std::string> choose(const Schema& schema, const std::vector<Source>& sources, GivenMap& given) {
  const Given* steps = find_set(given, "max_train_steps");
  const Given* epochs = find_set(given, "max_train_epochs");
  if (steps == nullptr || epochs == nullptr) return {};
  const std::string steps_text = shown("max_train_steps", *steps);
  const std::string epochs_text = shown("max_train_epochs", *epochs);
  const size_t steps_level = level_of(sources, "max_train_steps");
  const size_t epochs_level = level_of(sources, "max_train_epochs");
  if (steps_level > epochs_level) {
    given.erase("max_train_epochs");
    return {steps_text + " counts over " + epochs_text + "."};
  }
  // Files that this program writes hold the default, too.
  const Option* option = schema.find("max_train_steps");
  if (option != nullptr && steps->where != "command line" && steps->value == option->fallback) return {};
  return {epochs_text + " counts over " + steps_text +
          (steps_level == epochs_level ? ": epochs win over steps given in the same place, as in sd-scripts." : ".")};
}

// What the GUI computes when its field of steps is 0, from what the run will really use.
std::vector<std::string> count(double epochs, const std::string& file, const Option& option, GivenMap& given) {
  const std::string start = "max_train_steps is 0 in " + file + ": ";
  const std::string otherwise =
      value_text(option.fallback) + " steps, the default; max_train_steps or max_train_epochs changes it.";
  if (find_set(given, "dataset_config") != nullptr) {
    return {start + "the GUI counts no pictures of a dataset_config, so this run takes " + otherwise};
  }
  const std::string folder = text_of(given, "train_data_dir");
  if (folder.empty()) return {};  // is missing, which is a problem of its own
  const int64_t steps = kohya_step_count({.train_data_dir = folder,
                                          .has_regularisation = !text_of(given, "reg_data_dir").empty(),
                                          .batch_size = count_of(given, "train_batch_size"),
                                          .accumulation = count_of(given, "gradient_accumulation_steps"),
                                          .epochs = epochs});
  if (steps == 0) {
    return {start + folder + " has no pictures in folders REPEATS_NAME to count, so this run takes " + otherwise};
  }
  given["max_train_steps"] = {steps, file, std::to_string(steps)};
  return {start + std::to_string(steps) + " steps, as the GUI counts them from the pictures and repeats in " + folder +
          ", batch size and " + value_text(epochs) + " epochs."};
}

}  // namespace

std::vector<std::string> settle_length(const Schema& schema, const std::vector<Source>& sources, GivenMap& given) {
  const Option* option = schema.find("max_train_steps");
  if (option == nullptr) return {};
  for (const Source& source : sources) {
    if (!source.counted_epochs || find_set(given, "max_train_steps") || find_set(given, "max_train_epochs")) continue;
    return count(*source.counted_epochs, source.name, *option, given);
  }
  return choose(schema, sources, given);
}

}  // namespace cinnabar::schema
