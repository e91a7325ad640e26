// The folder convention: sub-folders named REPEATS_WORDS hold the pictures.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// A subset for each sub-folder "10_a cat" of `folder` (10 repeats, class tokens "a cat"), sorted by name; all else
// comes from `defaults`. Other sub-folders and loose files are reported and left out. When no sub-folder is named so,
// pictures that lie in `folder` itself, or else the other sub-folders, are used with one repeat, which is reported. A
// folder without any picture is an Issue of severity Error that says what was seen.
std::vector<SubsetOptions> subsets_of_folder(const std::filesystem::path& folder, const SubsetOptions& defaults,
                                             std::vector<Issue>& issues);

struct FolderListing {
  std::vector<std::string> pictures;           // paths, sorted by name; there may be a million
  std::vector<std::filesystem::path> folders;  // sorted by name; hidden ones left out
  // Files that are neither pictures nor what lies beside pictures (captions, caches), by extension. Hidden files
  // and those that operating systems leave behind are not counted.
  std::vector<std::pair<std::string, int64_t>> other_files;
  // Files with letters beyond ASCII, by their path in Unicode's composed form (NFC): names that look alike may be
  // written in two ways, and a caption may have the other one.
  std::map<std::string, std::filesystem::path> by_composed_path;
};

// The content of one folder, not of those below. Links are followed; dangling ones are reported. Throws Error{Io} when
// it cannot be read.
FolderListing list_folder(const std::filesystem::path& folder, std::vector<Issue>& issues);
// With all folders below; `folders` stays empty. A folder that a link leads to a second time is reported and cut.
FolderListing list_folders_below(const std::filesystem::path& folder, std::vector<Issue>& issues);

// The path in Unicode's composed form, or "" when it is plain ASCII.
std::string composed_path(const std::string& bytes);
// `path` itself where it exists; else the path whose parts look alike (composed or decomposed letters); else `path`.
std::filesystem::path path_as_written(const std::filesystem::path& path);

// The names of files for a message: "a.png, b.png and 7 more".
std::string some_names(const std::vector<std::filesystem::path>& paths);

// Whether files of this extension are pictures that this program cannot read: jxl, heic, psd, ...
bool is_unsupported_picture_extension(std::string_view extension);

}  // namespace cinnabar::data
