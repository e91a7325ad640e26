// What a scan finds out about one picture: its header, its end, its caption.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/data/dataset.h"
#include "cinnabar/data/dataset_scan.h"
#include "cinnabar/data/scan_index.h"

namespace cinnabar::data {

// What the pictures of one subset share.
struct SubsetPlace {
  // Files by their composed path: FolderListing::by_composed_path.
  std::map<std::string, std::filesystem::path> by_composed_path{};
  // What earlier scans of the folder found out; null: none is kept.
  std::shared_ptr<ScanIndex> index{};
};

struct PictureFinding {
  std::optional<Sample> sample;
  std::vector<Issue> issues;
  // Told once a folder rather than once a picture.
  bool is_caption_from_txt = false;
  bool has_no_caption = false;
  bool has_empty_caption_file = false;
  bool is_skipped = false;              // skip_uncaptioned
  std::filesystem::path other_caption;  // a caption file that other options would take
};

// Safe for several threads.
PictureFinding scan_picture(const std::filesystem::path& path, const SubsetOptions& subset, const SubsetPlace& place,
                            const BucketRule& rule, const ScanOptions& scan);

}  // namespace cinnabar::data
