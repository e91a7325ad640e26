#include "cinnabar/data/mask_files.h"

#include <cmath>
#include <map>
#include <set>

#include "cinnabar/base/counted.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/folder_dataset.h"
#include "cinnabar/data/picture_probe.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

// Files of one folder by name without extension; the first by name wins.
std::map<std::string, fs::path> masks_of(const fs::path& folder, std::vector<Issue>& issues) {
  std::map<std::string, fs::path> masks;
  for (const std::string& file : list_folder(folder, issues).pictures) {
    masks.try_emplace(fs::path(file).stem().string(), file);
  }
  return masks;
}

fs::path folder_of(const SubsetOptions& subset) {
  const fs::path own = subset.conditioning_data_dir / subset.image_dir.filename();
  std::error_code ignored;
  return fs::is_directory(own, ignored) ? own : subset.conditioning_data_dir;
}

bool has_shape_of(Size mask, Size picture) {
  const double expected =
      static_cast<double>(mask.width) * static_cast<double>(picture.height) / static_cast<double>(picture.width);
  return std::abs(expected - static_cast<double>(mask.height)) <= 1.0;
}

// Why the mask cannot be used; empty when it can.
std::string fault_of(const fs::path& mask, const Sample& sample) {
  try {
    const PictureInfo info = probe_picture(mask);
    if (has_shape_of(info.upright, sample.size)) return {};
    const PictureInfo picture = probe_picture(sample.path);
    if (info.orientation <= 1 && has_shape_of(info.upright, picture.stored)) return {};
    return "its mask " + mask.string() + " has " + to_string(info.upright) + " pixels, the picture has " +
           to_string(sample.size) + "; expected the same shape";
  } catch (const base::Error& error) {
    return "its mask cannot be used: " + error.message();
  }
}

// The masks of one subset.
class SubsetMasks {
 public:
  SubsetMasks(Dataset& dataset, size_t index)
      : dataset_(dataset), subset_(dataset.options.subsets[index]), folder_(folder_of(subset_)), index_(index) {}

  void find(std::vector<size_t>& without, std::vector<Issue>& issues) {
    std::error_code ignored;
    if (!fs::is_directory(folder_, ignored)) {
      issues.push_back(blocks("no such folder", "the run cannot start; correct conditioning_data_dir"));
      return;
    }
    std::map<std::string, fs::path> masks;
    try {
      masks = masks_of(folder_, issues);
    } catch (const base::Error& error) {
      issues.push_back(blocks(error.message(), "the run cannot start; check the permissions"));
      return;
    }
    std::set<std::string> used;
    std::vector<fs::path> missing;
    for (size_t i = 0; i < dataset_.samples.size(); ++i) {
      Sample& sample = dataset_.samples[i];
      if (sample.subset != index_) continue;
      const auto found = masks.find(sample.path.stem().string());
      if (found == masks.end()) {
        missing.push_back(sample.path);
        without.push_back(i);
        continue;
      }
      used.insert(found->first);
      if (const std::string fault = fault_of(found->second, sample); !fault.empty()) {
        issues.push_back(left_out(sample.path, fault, "mask_shape"));
        without.push_back(i);
      } else {
        sample.mask = found->second;
      }
    }
    if (!missing.empty()) {
      issues.push_back(left_out(subset_.image_dir,
                                base::counted(std::ssize(missing), "picture") + " without a mask in " +
                                    folder_.string() + ": " + some_names(missing),
                                "no_mask"));
    }
    std::vector<fs::path> surplus;
    for (const auto& [stem, path] : masks) {
      if (!used.contains(stem)) surplus.push_back(path);
    }
    if (!surplus.empty()) {
      issues.push_back({.severity = Severity::Warning,
                        .path = folder_,
                        .message = base::counted(surplus.size(), "mask") + " without a picture: " + some_names(surplus),
                        .action = "not used",
                        .treatment = Treatment::LeftOut,
                        .kind = "surplus_masks"});
    }
    if (used.empty())
      issues.push_back(blocks("no file fits a picture of " + subset_.image_dir.string(), "the run cannot start"));
  }

 private:
  Issue blocks(const std::string& message, const std::string& action) const {
    return {.severity = Severity::Error,
            .path = folder_,
            .message = message,
            .action = action,
            .treatment = Treatment::Blocks,
            .kind = "mask_folder"};
  }
  static Issue left_out(const fs::path& path, const std::string& message, const std::string& kind) {
    return {.severity = Severity::Warning,
            .path = path,
            .message = message,
            .action = "left out",
            .treatment = Treatment::LeftOut,
            .kind = kind};
  }

  Dataset& dataset_;
  const SubsetOptions& subset_;
  fs::path folder_;
  size_t index_;
};

}  // namespace

std::vector<Issue> find_masks(Dataset& dataset) {
  std::vector<size_t> without;
  std::vector<Issue> issues;
  for (size_t i = 0; i < dataset.options.subsets.size(); ++i) {
    const SubsetOptions& subset = dataset.options.subsets[i];
    if (subset.conditioning_data_dir.empty() || subset.is_reg) continue;
    SubsetMasks(dataset, i).find(without, issues);
  }
  dataset.issues.insert(dataset.issues.end(), issues.begin(), issues.end());
  remove_samples(dataset, without);
  return issues;
}

}  // namespace cinnabar::data
