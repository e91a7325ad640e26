#include "cinnabar/train/picture_options.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "cinnabar/base/error.h"
#include "cinnabar/data/mask_files.h"

namespace cinnabar::train {

namespace {

using data::SubsetOptions;

bool any_subset(const std::vector<data::Dataset>& datasets, const std::function<bool(const SubsetOptions&)>& is_so) {
  return std::ranges::any_of(
      datasets, [&](const data::Dataset& dataset) { return std::ranges::any_of(dataset.options.subsets, is_so); });
}

}  // namespace

std::optional<data::Colour> background_from(const std::string& text) {
  if (text == "keep") return std::nullopt;
  if (text == "white") return data::Colour{255, 255, 255};
  if (text == "grey" || text == "gray") return data::Colour{128, 128, 128};
  if (text == "black") return data::Colour{0, 0, 0};
  uint32_t rgb = 0;
  if (text.size() == 7 && text[0] == '#') {
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 7, rgb, 16);
    if (error == std::errc{} && end == text.data() + 7) {
      return data::Colour{static_cast<uint8_t>(rgb >> 16), static_cast<uint8_t>(rgb >> 8), static_cast<uint8_t>(rgb)};
    }
  }
  throw base::Error(base::ErrorCode::Config, "transparent_background = \"" + text +
                                                 "\": expected white, grey, black, keep or a colour such as #FF8000");
}

std::optional<data::Colour> background_of(const schema::Values& values) {
  return background_from(values.maybe_text("transparent_background").value_or("white"));
}

void prepare_pictures(const schema::Values& values, std::vector<data::Dataset>& datasets, base::EventSink& events) {
  const bool is_masked = values.flag("masked_loss");
  for (data::Dataset& dataset : datasets) {
    if (is_masked) data::find_masks(dataset);
    const bool has_face_range = std::ranges::any_of(
        dataset.options.subsets, [](const SubsetOptions& subset) { return subset.face_crop_aug_range.has_value(); });
    if (has_face_range && dataset.options.bucket.enable_bucket) {
      events.warning("face_crop_aug_range has no effect with enable_bucket: buckets decide how pictures are cut.");
    }
  }
  const bool has_masks = any_subset(
      datasets, [](const SubsetOptions& subset) { return subset.alpha_mask || !subset.conditioning_data_dir.empty(); });
  if (is_masked && !has_masks) {
    events.warning("masked_loss has no effect: no pictures have masks. Give alpha_mask or conditioning_data_dir.");
  }
  // Without a file of data sets the option itself was noted already.
  const bool has_folders = values.has("dataset_config") && any_subset(datasets, [](const SubsetOptions& subset) {
                             return !subset.conditioning_data_dir.empty();
                           });
  if (!is_masked && has_folders) {
    events.warning("conditioning_data_dir has no effect without masked_loss: its pictures are masks of the loss.");
  }
}

}  // namespace cinnabar::train
