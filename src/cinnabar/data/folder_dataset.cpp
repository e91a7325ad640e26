#include "cinnabar/data/folder_dataset.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "cinnabar/base/counted.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/picture_probe.h"
#include "cinnabar/data/preview_pictures.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

// Companions of pictures: captions, caches and notes of trainers and taggers.
constexpr std::array<std::string_view, 9> kCompanions = {".txt",  ".caption", ".npz",         ".json",    ".jsonl",
                                                         ".toml", ".tags",    ".safetensors", ".cinnabar"};

// Pictures of kinds that are not read. Worth a warning: the user counts them.
constexpr std::array<std::string_view, 18> kUnsupported = {".jxl", ".heic", ".heif", ".psd", ".psb", ".svg",
                                                           ".tga", ".exr",  ".hdr",  ".ico", ".jp2", ".j2k",
                                                           ".pcx", ".dds",  ".raw",  ".cr2", ".nef", ".dng"};

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

bool is_system_file(const std::string& name) {
  if (name.starts_with(".") || name == "@eaDir" || name == "__MACOSX") return true;
  const std::string lower = lower_case(name);
  return lower == "thumbs.db" || lower == "desktop.ini";
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
  const bool is_huge = error == std::errc::result_out_of_range && !name.starts_with('-');
  if (is_huge) result.repeats = std::numeric_limits<int64_t>::max();  // refused by the scan
  if ((error != std::errc{} && !is_huge) || stop != name.data() + end) return std::nullopt;
  if (end < name.size()) result.class_tokens = name.substr(end + 1);
  return result;
}

// The last part, also of "x/10_cat/".
std::string path_name(const fs::path& folder) { return (folder / "").parent_path().filename().string(); }

std::string described(const FolderListing& listing) {
  std::string text = std::to_string(listing.folders.size()) + " sub-folders, " +
                     base::counted(std::ssize(listing.pictures), "picture") + " of its own";
  for (const auto& [extension, count] : listing.other_files)
    text += ", " + std::to_string(count) + " " + extension + " files";
  return text;
}

enum class EntryKind { Folder, File, Other, Dangling };

// The listing itself tells the kind of what is no link, without a call for each file.
EntryKind kind_of(const dirent& entry, int folder) {
  if (entry.d_type == DT_REG) return EntryKind::File;
  if (entry.d_type == DT_DIR) return EntryKind::Folder;
  struct stat info{};
  if (::fstatat(folder, entry.d_name, &info, 0) != 0) return EntryKind::Dangling;
  return S_ISREG(info.st_mode) ? EntryKind::File : S_ISDIR(info.st_mode) ? EntryKind::Folder : EntryKind::Other;
}

// Appends what lies in `folder`, in no order. Names stay texts: a path for each is most of the time for a large folder.
void add_files(const fs::path& folder, FolderListing& listing, std::map<std::string, int64_t>& others,
               std::vector<Issue>& issues) {
  const auto fail = [&] {
    throw base::Error(base::ErrorCode::Io, "cannot read the folder " + folder.string() + ": " + std::strerror(errno));
  };
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(folder.c_str()), ::closedir);
  if (!stream) fail();
  const std::string before = (folder / "").native();
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) fail();
    if (entry == nullptr) return;
    const std::string name = entry->d_name;
    if (is_system_file(name)) continue;
    const size_t point = name.rfind('.');
    const std::string extension = point == std::string::npos ? "" : name.substr(point);
    const EntryKind kind = kind_of(*entry, ::dirfd(stream.get()));
    const std::string path = before + name;
    if (kind == EntryKind::Folder) {
      listing.folders.emplace_back(path);
      continue;
    }
    if (kind == EntryKind::Dangling) {
      issues.push_back(
          {Severity::Warning, path, "the link leads nowhere", "left out", Treatment::LeftOut, "dangling_link"});
      continue;
    }
    if (std::string composed = composed_path(path); !composed.empty()) {
      listing.by_composed_path.emplace(std::move(composed), path);
    }
    if (kind == EntryKind::File && is_picture_extension(extension)) {
      listing.pictures.push_back(path);
    } else if (std::ranges::find(kCompanions, lower_case(extension)) == kCompanions.end()) {
      ++others[extension.empty() ? "(no extension)" : lower_case(extension)];
    }
  }
}

void finish(FolderListing& listing, const std::map<std::string, int64_t>& others, bool is_one_folder) {
  if (is_one_folder) {  // the order of paths is that of their texts there, which is found many times faster
    std::ranges::sort(listing.pictures);
  } else {
    std::vector<fs::path> paths(listing.pictures.begin(), listing.pictures.end());
    std::ranges::sort(paths);
    std::ranges::transform(paths, listing.pictures.begin(), &fs::path::native);
  }
  std::ranges::sort(listing.folders);
  listing.other_files.assign(others.begin(), others.end());
}

SubsetOptions subset_of(const fs::path& folder, const FolderName& name, const SubsetOptions& defaults) {
  SubsetOptions subset = defaults;
  subset.image_dir = folder;
  subset.num_repeats = name.repeats;
  subset.class_tokens = name.class_tokens;
  return subset;
}

Issue too_few_repeats(const fs::path& folder) {
  return {Severity::Warning,  folder,       "the name asks for fewer than 1 repeat", "left out",
          Treatment::LeftOut, "folder_name"};
}

// What is used when no sub-folder follows the convention.
std::vector<SubsetOptions> subsets_without_names(const fs::path& folder, const FolderListing& listing,
                                                 const SubsetOptions& defaults, std::vector<Issue>& issues) {
  std::vector<SubsetOptions> subsets;
  const FolderName once = {.repeats = 1, .class_tokens = defaults.class_tokens};
  if (!listing.pictures.empty()) {
    subsets.push_back(subset_of(folder, once, defaults));
    const bool is_named = parse_folder_name(path_name(folder)).has_value();
    issues.push_back(
        {Severity::Warning, folder,
         is_named
             ? "this folder is itself named REPEATS_WORDS; give the one above it, so that its repeats and words count"
             : "no sub-folder is named REPEATS_WORDS (for example \"10_cat\")",
         base::counted(std::ssize(listing.pictures), "picture") + " in the folder itself: used, 1 repeat each",
         Treatment::Used, "folder_name"});
    return subsets;
  }
  for (const fs::path& candidate : listing.folders) {
    std::vector<Issue> later;  // told when the subset itself is scanned
    const FolderListing inner =
        defaults.recursive ? list_folders_below(candidate, later) : list_folder(candidate, later);
    if (inner.pictures.empty()) continue;
    if (parse_folder_name(candidate.filename().string())) {
      issues.push_back(too_few_repeats(candidate));
      continue;
    }
    if (std::ranges::all_of(inner.pictures, is_preview)) {
      issues.push_back({Severity::Warning, candidate,
                        base::counted(std::ssize(inner.pictures), "preview") + " of an earlier run",
                        "left out; name the folder itself to train with them", Treatment::LeftOut, "previews"});
      continue;
    }
    subsets.push_back(subset_of(candidate, once, defaults));
    issues.push_back({Severity::Warning, candidate,
                      "the name does not begin with a number of repeats (for example \"10_cat\")",
                      "used with 1 repeat, since no other folder is named so", Treatment::Used, "folder_name"});
  }
  return subsets;
}

}  // namespace

FolderListing list_folder(const fs::path& folder, std::vector<Issue>& issues) {
  FolderListing listing;
  std::map<std::string, int64_t> others;
  add_files(folder, listing, others, issues);
  finish(listing, others, true);
  return listing;
}

FolderListing list_folders_below(const fs::path& folder, std::vector<Issue>& issues) {
  FolderListing listing;
  std::map<std::string, int64_t> others;
  std::set<fs::path> seen;
  std::vector<fs::path> waiting = {folder};
  while (!waiting.empty()) {
    const fs::path next = waiting.back();
    waiting.pop_back();
    std::error_code ignored;
    const fs::path real = fs::canonical(next, ignored);
    if (!seen.insert(real.empty() ? next : real).second) {
      issues.push_back({Severity::Warning, next, "a link leads to a folder that is read already", "not entered again",
                        Treatment::Used, "folder_loop"});
      continue;
    }
    add_files(next, listing, others, issues);
    std::ranges::sort(listing.folders, std::greater<>());
    waiting.insert(waiting.end(), listing.folders.begin(), listing.folders.end());
    listing.folders.clear();
  }
  finish(listing, others, false);
  return listing;
}

std::string composed_path(const std::string& bytes) {
  if (std::ranges::all_of(bytes, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return {};
  if (text::find_invalid_utf8(bytes)) return bytes;
  return text::encode_utf8(text::normalize_nfc(text::decode_utf8(bytes)));
}

fs::path path_as_written(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored) || composed_path(path.native()).empty()) return path;
  fs::path found;
  for (const fs::path& part : path) {
    fs::path next = found / part;
    if (!part.empty() && !fs::exists(next, ignored)) {
      const std::string wanted = composed_path(part);
      for (const auto& entry : fs::directory_iterator(found.empty() ? "." : found, ignored)) {
        if (!wanted.empty() && composed_path(entry.path().filename()) == wanted) next = found / entry.path().filename();
      }
    }
    found = next;
  }
  return fs::exists(found, ignored) ? found : path;
}

std::string some_names(const std::vector<fs::path>& paths) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, paths.size()); ++i) {
    text += (i == 0 ? "" : ", ") + paths[i].filename().string();
  }
  if (paths.size() > kShown) text += " and " + std::to_string(paths.size() - kShown) + " more";
  return text;
}

bool is_unsupported_picture_extension(std::string_view extension) {
  return std::ranges::find(kUnsupported, lower_case(std::string(extension))) != kUnsupported.end();
}

std::vector<SubsetOptions> subsets_of_folder(const fs::path& folder, const SubsetOptions& defaults,
                                             std::vector<Issue>& issues) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    issues.push_back({Severity::Error, folder, fs::exists(folder, ignored) ? "not a folder" : "no such folder",
                      "nothing can be trained; give the folder that holds sub-folders such as \"10_cat\"",
                      Treatment::Blocks, "missing_folder"});
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
      } else if (name) {
        unnamed.push_back(too_few_repeats(candidate));
      } else {
        unnamed.push_back({Severity::Warning, candidate,
                           "the name does not begin with a number of repeats (for example \"10_cat\")", "left out",
                           Treatment::LeftOut, "folder_name"});
      }
    }
    if (subsets.empty()) {
      subsets = subsets_without_names(folder, listing, defaults, issues);
    } else {
      issues.insert(issues.end(), unnamed.begin(), unnamed.end());
      if (!listing.pictures.empty()) {
        issues.push_back({Severity::Warning, folder,
                          base::counted(std::ssize(listing.pictures), "picture") + " beside the numbered sub-folders",
                          "left out", Treatment::LeftOut, "loose_pictures"});
      }
    }
  } catch (const base::Error& error) {
    issues.push_back({Severity::Error, folder, error.message(), "nothing can be trained; check the permissions",
                      Treatment::Blocks, "unreadable_folder"});
    return {};
  }
  if (subsets.empty()) {
    issues.push_back({Severity::Error, folder, "no pictures found: it holds " + described(listing),
                      "nothing can be trained; put pictures into a sub-folder such as \"10_cat\"", Treatment::Blocks,
                      "no_pictures"});
  }
  return subsets;
}

}  // namespace cinnabar::data
