#include "cinnabar/data/dataset_file.h"

#include <algorithm>

#include "cinnabar/base/error.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/data/dataset_keys.h"
#include "cinnabar/schema/json_value.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Where a table of the file is: for lines ("/datasets/0") and for people ("datasets[1]").
struct TablePlace {
  ConfigPlace kind = ConfigPlace::General;
  std::string pointer;
  std::string shown;
};

class FileReader {
 public:
  FileReader(const ConfigTree& tree, const fs::path& folder, const schema::Values& values, schema::Problems& problems)
      : tree_(tree), folder_(folder), values_(values), problems_(problems) {}

  DatasetFile read() {
    const Json& root = tree_.root;
    if (!root.is_object()) {
      add("", "", "expected tables [general] and [[datasets]]");
      return std::move(file_);
    }
    for (const auto& [key, value] : root.items()) {
      if (key != "general" && key != "datasets") add_unknown_table(key);
    }
    DatasetSettings settings = settings_from(values_);
    if (root.contains("general")) read_table(root["general"], {ConfigPlace::General, "/general", "general"}, settings);
    if (!root.contains("datasets")) {
      add("", "datasets", "missing: the file describes no data set; expected at least one [[datasets]]");
      return std::move(file_);
    }
    read_datasets(root["datasets"], settings);
    add_notices();
    return std::move(file_);
  }

 private:
  void add(const std::string& pointer, const std::string& option, const std::string& message) {
    problems_.add({tree_.where(pointer), option, "", message});
  }

  void add_unknown_table(const std::string& key) {
    std::string message = "unknown table or key; expected [general] and [[datasets]]";
    if (find_dataset_key(key) != nullptr)
      message += ". Put this key under one of them";
    else if (key == "subsets")
      message += ". Subsets belong to a data set: [[datasets.subsets]]";
    else
      message += ". Options of the run belong on the command line or into --config_file";
    add("/" + key, key, message);
  }

  void add_unknown_key(const TablePlace& place, const std::string& key) {
    const std::string pointer = place.pointer + "/" + key;
    const std::string name = place.shown + "." + key;
    if (const DatasetKey* known = find_dataset_key(key)) {
      std::string where;
      for (const ConfigPlace other : {ConfigPlace::General, ConfigPlace::Dataset, ConfigPlace::Subset}) {
        if (known->allowed_in(other)) where += (where.empty() ? "" : " or ") + std::string(to_string(other));
      }
      return add(pointer, name,
                 "this key does not belong in " + std::string(to_string(place.kind)) + ", but in " + where);
    }
    const std::vector<std::string> names = dataset_key_names(place.kind);
    std::string nearest = base::nearest_name(key, names);
    // The two options whose names on the command line differ.
    if (key == "train_batch_size") nearest = place.kind == ConfigPlace::Subset ? "" : "batch_size";
    if (key == "dataset_repeats") nearest = "num_repeats";
    if (key == "train_data_dir") nearest = place.kind == ConfigPlace::Subset ? "image_dir" : "";
    add(pointer, name, "unknown key" + (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"));
  }

  void read_table(const Json& table, const TablePlace& place, DatasetSettings& settings) {
    if (!table.is_object()) return add(place.pointer, place.shown, "expected a table");
    for (const auto& [key, value] : table.items()) {
      if (place.kind == ConfigPlace::Dataset && key == "subsets") continue;
      const DatasetKey* known = find_dataset_key(key);
      if (known == nullptr || !known->allowed_in(place.kind)) {
        add_unknown_key(place, key);
        continue;
      }
      if (value.is_null() && tree_.lines.empty()) continue;  // JSON's null: as if it were not there
      const std::string expected = known->apply(value, place.kind, settings);
      if (expected.empty()) continue;
      problems_.add(
          {tree_.where(place.pointer + "/" + key), place.shown + "." + key, schema::json_text(value), expected});
    }
  }

  void read_datasets(const Json& list, const DatasetSettings& general) {
    if (!list.is_array() || list.empty()) return add("/datasets", "datasets", "expected at least one [[datasets]]");
    for (size_t i = 0; i < list.size(); ++i) {
      read_dataset(list[i],
                   {ConfigPlace::Dataset, "/datasets/" + std::to_string(i), "datasets[" + std::to_string(i + 1) + "]"},
                   general);
    }
  }

  void read_dataset(const Json& table, const TablePlace& place, DatasetSettings settings) {
    read_table(table, place, settings);
    if (!table.is_object()) return;
    if (!table.contains("subsets") || !table["subsets"].is_array() || table["subsets"].empty()) {
      return add(place.pointer, place.shown + ".subsets",
                 "missing: a data set needs at least one [[datasets.subsets]] with an image_dir");
    }
    DatasetOptions dataset = settings.dataset;
    const Json& subsets = table["subsets"];
    for (size_t i = 0; i < subsets.size(); ++i) {
      const std::string number = std::to_string(i);
      const TablePlace inner = {ConfigPlace::Subset, place.pointer + "/subsets/" + number,
                                place.shown + ".subsets[" + std::to_string(i + 1) + "]"};
      DatasetSettings own = settings;
      read_table(subsets[i], inner, own);
      check_subset(inner, own.subset);
      dataset.subsets.push_back(std::move(own.subset));
    }
    check_kinds(place, dataset);
    check_buckets(place, dataset);
    file_.datasets.push_back(std::move(dataset));
  }

  void check_subset(const TablePlace& place, SubsetOptions& subset) {
    if (!subset.metadata_file.empty()) {
      return add(place.pointer + "/metadata_file", place.shown + ".metadata_file",
                 "captions from a metadata file are not supported yet; give image_dir, with a caption file beside each "
                 "picture");
    }
    if (subset.image_dir.empty()) {
      return add(place.pointer, place.shown + ".image_dir", "missing: name the folder of the subset's pictures");
    }
    subset.image_dir = found_folder(subset.image_dir);
    if (!subset.conditioning_data_dir.empty()) {
      subset.conditioning_data_dir = found_folder(subset.conditioning_data_dir);
      if (subset.random_crop) {
        add(place.pointer, place.shown + ".random_crop", "not possible with conditioning_data_dir");
      }
      if (subset.is_reg)
        add(place.pointer + "/is_reg", place.shown + ".is_reg", "not possible with conditioning_data_dir");
    }
  }

  // "embedded" stands for the program's own pictures.
  fs::path found_folder(const fs::path& folder) {
    if (folder == base::kEmbedded) return base::resource("embedded/pictures/1_subjects");
    std::error_code ignored;
    if (folder.is_absolute() || fs::exists(folder, ignored) || folder_.empty()) return folder;
    fs::path beside = folder_ / folder;
    if (!fs::exists(beside, ignored)) return folder;
    file_.notices.push_back(folder.string() + " is not in the working directory; the folder beside " + tree_.name +
                            " is used.");
    return beside;
  }

  void check_kinds(const TablePlace& place, const DatasetOptions& dataset) {
    const auto has_masks = [](const SubsetOptions& subset) { return !subset.conditioning_data_dir.empty(); };
    const auto count = std::ranges::count_if(dataset.subsets, has_masks);
    if (count == 0) return;
    // Regularisation pictures count in full, and stand in the data set of the pictures that they balance.
    const auto regular = std::ranges::count_if(dataset.subsets, [](const SubsetOptions& one) { return !one.is_reg; });
    if (count < regular) {
      return add(place.pointer, place.shown,
                 "some subsets have conditioning_data_dir and some have not; give it to all of them but those with "
                 "is_reg, or use two data sets");
    }
    if (!values_.flag("masked_loss")) {
      add(place.pointer, place.shown,
          "conditioning_data_dir holds masks, which only --masked_loss uses; give it, or leave "
          "conditioning_data_dir out");
    }
  }

  void check_buckets(const TablePlace& place, const DatasetOptions& dataset) {
    const BucketOptions& bucket = dataset.bucket;
    if (bucket.enable_bucket && bucket.bucket_reso_steps % 8 != 0) {
      add(place.pointer, place.shown + ".bucket_reso_steps",
          std::to_string(bucket.bucket_reso_steps) + ": expected a multiple of 8, for Stable Diffusion of 64");
    }
    try {
      std::vector<std::string> ignored;
      (void)prepared(bucket, ignored);
    } catch (const base::Error& error) {
      add(place.pointer, place.shown, error.message());
    }
  }

  bool says_resolution() const {
    if (values_.has("resolution")) return true;
    const Json& root = tree_.root;
    if (root.contains("general") && root["general"].is_object() && root["general"].contains("resolution")) return true;
    return std::ranges::all_of(root["datasets"], [](const Json& table) { return table.contains("resolution"); });
  }

  void add_notices() {
    if (root_is_list() && !says_resolution()) {
      file_.notices.push_back("resolution is not given for every data set; " +
                              to_string(settings_from(values_).dataset.bucket.resolution) + " is used there.");
    }
    const auto any_dataset = [&](auto predicate) { return std::ranges::any_of(file_.datasets, predicate); };
    const auto any_subset = [&](auto member) {
      return any_dataset([&](const DatasetOptions& dataset) {
        return std::ranges::any_of(dataset.subsets, [&](const SubsetOptions& subset) { return member(subset); });
      });
    };
    if (any_dataset([](const DatasetOptions& dataset) { return dataset.network_multiplier != 1.0; })) {
      file_.notices.emplace_back("network_multiplier has no effect, here as in sd-scripts.");
    }
    if (any_subset([](const SubsetOptions& subset) { return subset.cache_info; })) {
      file_.notices.emplace_back(
          "cache_info has no effect: captions and sizes are always remembered, and files that changed are read again.");
    }
    if (any_subset([](const SubsetOptions& subset) { return !subset.custom_attributes.empty(); })) {
      file_.notices.emplace_back("custom_attributes has no effect: no training method reads them yet.");
    }
  }

  bool root_is_list() const { return tree_.root["datasets"].is_array(); }

  const ConfigTree& tree_;
  const fs::path folder_;
  const schema::Values& values_;
  schema::Problems& problems_;
  DatasetFile file_;
};

}  // namespace

DatasetFile datasets_from_tree(const ConfigTree& tree, const fs::path& folder, const schema::Values& values,
                               schema::Problems& problems) {
  return FileReader(tree, folder, values, problems).read();
}

DatasetFile read_dataset_file(const fs::path& path, const schema::Values& values) {
  schema::Problems problems;
  DatasetFile file = datasets_from_tree(read_config_tree(path), path.parent_path(), values, problems);
  problems.raise();
  return file;
}

}  // namespace cinnabar::data
