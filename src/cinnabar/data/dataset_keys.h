// The keys of a data set file: where each may stand, what it holds, what it sets (sd-scripts' names, types and places).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/data/dataset_settings.h"

namespace cinnabar::data {

enum class ConfigPlace { General, Dataset, Subset };
// "[general]", "[[datasets]]", "[[datasets.subsets]]".
std::string_view to_string(ConfigPlace place);

struct DatasetKey {
  std::string_view name;
  bool in_general = true;
  bool in_dataset = true;
  bool in_subset = true;
  // Sets the value, or returns what was expected instead.
  std::string (*apply)(const nlohmann::ordered_json& value, ConfigPlace place, DatasetSettings& settings);

  bool allowed_in(ConfigPlace place) const;
};

const std::vector<DatasetKey>& dataset_keys();
// nullptr when unknown.
const DatasetKey* find_dataset_key(std::string_view name);
// Names allowed in a place, for messages.
std::vector<std::string> dataset_key_names(ConfigPlace place);

}  // namespace cinnabar::data
