#include "cinnabar/adapters/dataset_metadata.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cinnabar/adapters/python_text.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::adapters {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const schema::Value& value) {
  return std::visit(
      [](const auto& item) {
        if constexpr (std::is_same_v<std::decay_t<decltype(item)>, std::monostate>) {
          return Json();
        } else {
          return Json(item);
        }
      },
      value);
}

// Members of an object in the order of their first appearance. ordered_json itself looks through all of them for each
// new one, which takes minutes for as many tags as a large data set of sentences has.
class Members {
 public:
  bool contains(const std::string& name) const { return places_.contains(name); }
  void set(const std::string& name, Json value) {
    const auto [place, is_new] = places_.try_emplace(name, list_.size());
    if (is_new) {
      list_.emplace_back(name, std::move(value));
    } else {
      list_[place->second].second = std::move(value);
    }
  }
  // "name", "name (2)", "name (3)"...
  std::string unused(const std::string& name) {
    std::string candidate = name;
    for (int& number = numbers_[name]; contains(candidate);) {
      number = std::max(number + 1, 2);
      candidate = name + " (" + std::to_string(number) + ")";
    }
    return candidate;
  }
  Json json() {
    Json object = Json::object();
    auto& members = object.get_ref<Json::object_t&>();
    members.reserve(list_.size());
    for (auto& [name, value] : list_) members.push_back({name, std::move(value)});
    list_.clear();
    places_.clear();
    return object;
  }

 private:
  std::vector<std::pair<std::string, Json>> list_;
  std::unordered_map<std::string, size_t> places_;
  std::unordered_map<std::string, int> numbers_;
};

std::string flag_text(bool flag) { return flag ? "True" : "False"; }

Json bucket_info(const DatasetFacts& dataset) {
  if (!dataset.enable_bucket) return {};
  Json buckets = Json::object();
  for (size_t i = 0; i < dataset.buckets.size(); ++i) {
    const BucketFacts& bucket = dataset.buckets[i];
    if (bucket.count == 0) continue;
    buckets[std::to_string(i)] = {{"resolution", {bucket.width_px, bucket.height_px}}, {"count", bucket.count}};
  }
  return {{"buckets", buckets}, {"mean_img_ar_error", dataset.mean_aspect_error}};
}

// Several subsets of one name: the last one's counts, as in the reference tool, are those of the first here
// (`only_new`).
void add_tag_frequency(Members& frequency, const DatasetFacts& dataset) {
  for (const SubsetFacts& subset : dataset.subsets) {
    if (frequency.contains(subset.name)) continue;
    Members counts;
    for (const auto& [tag, count] : subset.tags) counts.set(tag, count);
    frequency.set(subset.name, counts.json());
  }
}

Json subset_json(const DatasetFacts& dataset, const SubsetFacts& subset) {
  Json json = {{"img_count", subset.image_count}, {"num_repeats", subset.repeats}};
  for (const char* name : {"color_aug", "flip_aug", "random_crop", "shuffle_caption"})
    json[name] = subset.options.flag(name);
  json["keep_tokens"] = subset.options.maybe_integer("keep_tokens").value_or(0);
  for (const char* name : {"keep_tokens_separator", "secondary_separator"})
    json[name] = to_json(subset.options.raw(name));
  json["enable_wildcard"] = subset.options.flag("enable_wildcard");
  for (const char* name : {"caption_prefix", "caption_suffix", "resize_interpolation"})
    json[name] = to_json(subset.options.raw(name));
  if (dataset.is_dreambooth) {
    json["image_dir"] = subset.name;
    json["class_tokens"] = subset.class_tokens ? Json(*subset.class_tokens) : Json();
    json["is_reg"] = subset.is_regularisation;
  } else {
    json["metadata_file"] = subset.name;
  }
  return json;
}

Json dataset_json(const DatasetFacts& dataset) {
  Members frequency;
  add_tag_frequency(frequency, dataset);
  Json subsets = Json::array();
  for (const SubsetFacts& subset : dataset.subsets) subsets.push_back(subset_json(dataset, subset));
  return {{"is_dreambooth", dataset.is_dreambooth},
          {"batch_size_per_device", dataset.batch_size},
          {"num_train_images", dataset.train_images},
          {"num_reg_images", dataset.regularisation_images},
          {"resolution", {dataset.width_px, dataset.height_px}},
          {"enable_bucket", dataset.enable_bucket},
          {"min_bucket_reso", dataset.enable_bucket ? Json(dataset.min_bucket_reso) : Json()},
          {"max_bucket_reso", dataset.enable_bucket ? Json(dataset.max_bucket_reso) : Json()},
          {"tag_frequency", frequency.json()},
          {"bucket_info", bucket_info(dataset)},
          {"resize_interpolation", dataset.resize_interpolation ? Json(*dataset.resize_interpolation) : Json()},
          {"subsets", subsets}};
}

Json counts_json(const SubsetFacts& subset) {
  return {{"n_repeats", subset.repeats}, {"img_count", subset.image_count}};
}

Metadata described_metadata(const TrainingFacts& facts) {
  Json datasets = Json::array();
  Members frequency;
  Members folders;
  for (const DatasetFacts& dataset : facts.datasets) {
    datasets.push_back(dataset_json(dataset));
    add_tag_frequency(frequency, dataset);
    for (const SubsetFacts& subset : dataset.subsets) {
      if (!subset.is_regularisation) folders.set(folders.unused(subset.name), counts_json(subset));
    }
  }
  return {{"ss_datasets", python_json(datasets)},
          {"ss_tag_frequency", python_json(frequency.json())},
          {"ss_dataset_dirs", python_json(folders.json())}};
}

Metadata folder_metadata(const TrainingFacts& facts, const DatasetFacts& dataset, const schema::Values& values) {
  Members folders;
  Members regularisation;
  Members frequency;
  for (const SubsetFacts& subset : dataset.subsets) {
    (subset.is_regularisation ? regularisation : folders).set(subset.name, counts_json(subset));
  }
  add_tag_frequency(frequency, dataset);
  const int64_t accumulation = values.maybe_integer("gradient_accumulation_steps").value_or(1);
  Metadata metadata{
      {"ss_batch_size_per_device", std::to_string(dataset.batch_size)},
      {"ss_total_batch_size", std::to_string(dataset.batch_size * facts.processes * accumulation)},
      {"ss_resolution", "(" + std::to_string(dataset.width_px) + ", " + std::to_string(dataset.height_px) + ")"},
      {"ss_enable_bucket", flag_text(dataset.enable_bucket)},
      {"ss_bucket_no_upscale", flag_text(dataset.bucket_no_upscale)},
      {"ss_min_bucket_reso", dataset.enable_bucket ? std::to_string(dataset.min_bucket_reso) : "None"},
      {"ss_max_bucket_reso", dataset.enable_bucket ? std::to_string(dataset.max_bucket_reso) : "None"},
      {"ss_keep_tokens", std::to_string(values.maybe_integer("keep_tokens").value_or(0))},
      {"ss_dataset_dirs", python_json(folders.json())},
      {"ss_reg_dataset_dirs", python_json(regularisation.json())},
      {"ss_tag_frequency", python_json(frequency.json())},
      {"ss_bucket_info", python_json(bucket_info(dataset))},
  };
  for (const char* name : {"color_aug", "flip_aug", "random_crop", "shuffle_caption"}) {
    metadata[std::string("ss_") + name] = flag_text(values.flag(name));
  }
  return metadata;
}

std::u32string_view stripped(std::u32string_view text) {
  while (!text.empty() && text::is_python_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && text::is_python_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

TagCounts count_tags(const std::vector<std::string>& captions) {
  TagCounts counts;
  std::unordered_map<std::string, size_t> index;
  for (const std::string& caption : captions) {
    const std::u32string text = text::decode_utf8(caption);
    for (size_t start = 0; start <= text.size();) {
      const size_t comma = std::min(text.find(U',', start), text.size());
      const std::u32string_view part = stripped(std::u32string_view(text).substr(start, comma - start));
      start = comma + 1;
      if (part.empty()) continue;
      std::string tag = text::encode_utf8(text::to_lower(part));
      const auto [found, is_new] = index.emplace(tag, counts.size());
      if (is_new) counts.emplace_back(std::move(tag), 0);
      ++counts[found->second].second;
    }
  }
  return counts;
}

Metadata dataset_metadata(const TrainingFacts& facts, const schema::Values& values) {
  if (facts.has_dataset_config || facts.datasets.size() != 1) return described_metadata(facts);
  return folder_metadata(facts, facts.datasets.front(), values);
}

}  // namespace cinnabar::adapters
