// The folder convention: sub-folders named REPEATS_WORDS hold the pictures.
#pragma once

#include <filesystem>
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
  std::vector<std::filesystem::path> pictures;  // sorted by name
  std::vector<std::filesystem::path> folders;   // sorted by name; hidden ones left out
  // Files that are neither pictures nor what lies beside pictures (captions, caches), by extension. Hidden files
  // and those that operating systems leave behind are not counted.
  std::vector<std::pair<std::string, int64_t>> other_files;
};

// The content of one folder, not of those below. Links are followed; dangling ones are reported. Throws Error{Io} when
// it cannot be read.
FolderListing list_folder(const std::filesystem::path& folder, std::vector<Issue>& issues);

}  // namespace cinnabar::data
