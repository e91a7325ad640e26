#include "cinnabar/data/preview_pictures.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include "cinnabar/base/counted.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "sample";

bool is_number(std::string_view text, size_t digits) {
  const bool is_length_right = digits == 0 ? !text.empty() : text.size() == digits;
  return is_length_right && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The text behind the last "_", or all of it, which is taken off.
std::string_view take_last(std::string_view& name) {
  const size_t at = name.rfind('_');
  const std::string_view last = at == std::string_view::npos ? name : name.substr(at + 1);
  name = at == std::string_view::npos ? std::string_view() : name.substr(0, at);
  return last;
}

// "x" of "x" and of "x/".
fs::path without_slash(const fs::path& folder) { return (folder / "").parent_path(); }

// Links resolved as far as the path exists; empty when that fails.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path result = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path() : result;
}

bool is_within(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

bool is_preview(const fs::path& path) {
  // Of the text, since a data set may have a million.
  std::string_view name = path.native();
  if (!name.ends_with(".png")) return false;
  name.remove_suffix(4);
  const size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return false;
  std::string_view folder = name.substr(0, slash);
  name.remove_prefix(slash + 1);
  while (folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.substr(folder.rfind('/') + 1) != kFolder) return false;
  std::string_view part = take_last(name);
  if (part.size() != 14 && is_number(part, 0)) part = take_last(name);  // the seed, where the prompt has one
  if (!is_number(part, 14) || !is_number(take_last(name), 2)) return false;
  part = take_last(name);
  if (part.starts_with('e')) part.remove_prefix(1);
  return is_number(part, 6);  // before it the name of the run, unless that is the default
}

void leave_out_previews(Dataset& dataset) {
  std::map<fs::path, size_t> counts;
  std::vector<size_t> found;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    if (!is_preview(sample.path)) continue;
    const fs::path folder = sample.path.parent_path();
    // Whoever names the folder itself wants its pictures.
    const fs::path& named = dataset.options.subsets.at(sample.subset).image_dir;
    if (folder == without_slash(named)) continue;
    ++counts[folder];
    found.push_back(i);
  }
  for (const auto& [folder, count] : counts) {
    dataset.issues.push_back({Severity::Warning, folder, base::counted(count, "preview") + " of an earlier run",
                              "left out; name the folder itself to train with them", Treatment::LeftOut, "previews"});
  }
  if (!found.empty()) remove_samples(dataset, found);
}

void report_preview_place(std::vector<Dataset>& datasets, const fs::path& output_dir) {
  const fs::path place = resolved(output_dir / kFolder);
  for (Dataset& dataset : datasets) {
    for (const SubsetOptions& subset : dataset.options.subsets) {
      const fs::path pictures = resolved(subset.image_dir);
      if (place.empty() || pictures.empty() || !is_within(place, pictures)) continue;
      dataset.issues.push_back({Severity::Warning, subset.image_dir,
                                "the previews of this run will lie among these pictures, in " + place.string(),
                                "runs leave them out by their names; better give an output_dir elsewhere",
                                Treatment::Used, "previews_among_pictures"});
      return;
    }
  }
}

}  // namespace cinnabar::data
