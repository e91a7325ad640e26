#include "cinnabar/data/folder_dataset.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "cinnabar/base/error.h"
#include "cinnabar/data/picture_probe.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

// Companions of pictures: captions, caches and notes of trainers and taggers.
constexpr std::array<std::string_view, 9> kCompanions = {".txt",  ".caption", ".npz",         ".json",    ".jsonl",
                                                         ".toml", ".tags",    ".safetensors", ".cinnabar"};

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

bool is_system_file(const std::string& name) {
  return name.starts_with(".") || name == "Thumbs.db" || name == "desktop.ini";
}

struct FolderName {
  int64_t repeats = 0;
  std::string class_tokens;
};

// "10_a_cat" is 10 and "a_cat"; "10" is 10 and "".
std::optional<FolderName> parse_folder_name(const std::string& name) {
  const size_t end = std::min(name.find('_'), name.size());
  FolderName result;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + end, result.repeats);
  if (error != std::errc{} || stop != name.data() + end) return std::nullopt;
  if (end < name.size()) result.class_tokens = name.substr(end + 1);
  return result;
}

std::string described(const FolderListing& listing) {
  std::string text = std::to_string(listing.folders.size()) + " sub-folders, " +
                     std::to_string(listing.pictures.size()) + " pictures of its own";
  for (const auto& [extension, count] : listing.other_files)
    text += ", " + std::to_string(count) + " " + extension + " files";
  return text;
}

SubsetOptions subset_of(const fs::path& folder, const FolderName& name, const SubsetOptions& defaults) {
  SubsetOptions subset = defaults;
  subset.image_dir = folder;
  subset.num_repeats = name.repeats;
  subset.class_tokens = name.class_tokens;
  return subset;
}

// What is used when no sub-folder follows the convention.
std::vector<SubsetOptions> subsets_without_names(const fs::path& folder, const FolderListing& listing,
                                                 const SubsetOptions& defaults, std::vector<Issue>& issues) {
  std::vector<SubsetOptions> subsets;
  const FolderName once = {.repeats = 1, .class_tokens = defaults.class_tokens};
  if (!listing.pictures.empty()) {
    subsets.push_back(subset_of(folder, once, defaults));
    issues.push_back(
        {Severity::Warning, folder, "no sub-folder is named REPEATS_WORDS (for example \"10_cat\")",
         "the " + std::to_string(listing.pictures.size()) + " pictures in the folder itself are used, 1 repeat each"});
    return subsets;
  }
  for (const fs::path& candidate : listing.folders) {
    if (list_folder(candidate, issues).pictures.empty()) continue;
    subsets.push_back(subset_of(candidate, once, defaults));
    issues.push_back({Severity::Warning, candidate,
                      "the name does not begin with a number of repeats (for example \"10_cat\")",
                      "used with 1 repeat, since no other folder is named so"});
  }
  return subsets;
}

}  // namespace

FolderListing list_folder(const fs::path& folder, std::vector<Issue>& issues) {
  FolderListing listing;
  std::map<std::string, int64_t> others;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_system_file(name)) continue;
    std::error_code ignored;  // the status itself says that nothing is there
    const fs::file_status status = entry->status(ignored);
    const std::string extension = entry->path().extension().string();
    if (fs::is_directory(status)) {
      listing.folders.push_back(entry->path());
    } else if (!fs::exists(status)) {
      issues.push_back({Severity::Warning, entry->path(), "the link leads nowhere", "left out"});
    } else if (fs::is_regular_file(status) && is_picture_extension(extension)) {
      listing.pictures.push_back(entry->path());
    } else if (std::ranges::find(kCompanions, lower_case(extension)) == kCompanions.end()) {
      ++others[extension.empty() ? "(no extension)" : lower_case(extension)];
    }
  }
  if (error)
    throw base::Error(base::ErrorCode::Io, "cannot read the folder " + folder.string() + ": " + error.message());
  std::ranges::sort(listing.pictures);
  std::ranges::sort(listing.folders);
  listing.other_files.assign(others.begin(), others.end());
  return listing;
}

std::vector<SubsetOptions> subsets_of_folder(const fs::path& folder, const SubsetOptions& defaults,
                                             std::vector<Issue>& issues) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    issues.push_back({Severity::Error, folder, fs::exists(folder, ignored) ? "not a folder" : "no such folder",
                      "nothing can be trained; give the folder that holds sub-folders such as \"10_cat\""});
    return {};
  }
  std::vector<SubsetOptions> subsets;
  std::vector<Issue> unnamed;
  FolderListing listing;
  try {
    listing = list_folder(folder, issues);
    for (const fs::path& candidate : listing.folders) {
      const auto name = parse_folder_name(candidate.filename().string());
      if (name && name->repeats >= 1) {
        subsets.push_back(subset_of(candidate, *name, defaults));
      } else {
        unnamed.push_back({Severity::Warning, candidate,
                           name ? "the name asks for fewer than 1 repeat"
                                : "the name does not begin with a number of repeats (for example \"10_cat\")",
                           "left out"});
      }
    }
    if (subsets.empty()) {
      subsets = subsets_without_names(folder, listing, defaults, issues);
    } else {
      issues.insert(issues.end(), unnamed.begin(), unnamed.end());
      if (!listing.pictures.empty()) {
        issues.push_back({Severity::Warning, folder,
                          std::to_string(listing.pictures.size()) + " pictures lie beside the numbered sub-folders",
                          "left out"});
      }
    }
  } catch (const base::Error& error) {
    issues.push_back({Severity::Error, folder, error.message(), "nothing can be trained; check the permissions"});
    return {};
  }
  if (subsets.empty()) {
    issues.push_back({Severity::Error, folder, "no pictures found: it holds " + described(listing),
                      "nothing can be trained; put pictures into a sub-folder such as \"10_cat\""});
  }
  return subsets;
}

}  // namespace cinnabar::data
