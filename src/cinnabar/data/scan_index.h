// What earlier scans found in the pictures and captions of one folder, so that a later one only looks at what changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/data/byte_source.h"
#include "cinnabar/data/picture_probe.h"

namespace cinnabar::data {

// A picture by its header and its end.
struct PictureFacts {
  PictureInfo info{};
  std::string missing_end{};  // see picture_end.h
};

struct CaptionFacts {
  std::string name{};  // of the caption's file, relative to the folder
  FileStamp stamp{};
  bool keeps_lines = false;
  std::string text{};
  bool had_byte_order_mark = false;
};

// A picture file and what was found out about it; what was not is unset.
struct IndexEntry {
  FileStamp stamp{};
  PictureFacts facts{};
  std::optional<CaptionFacts> caption{};
};

// One file, read at the start and replaced by save() when something changed: complete or absent (AtomicFile), with a
// checksum. find() and add() may be called by several threads.
class ScanIndex {
 public:
  // `file` need not exist. One that cannot be used is started anew, and problem() says why. Entries are for files below
  // `folder`. `now_ns` of the system's clock, for tests; 0: asked.
  ScanIndex(std::filesystem::path file, std::filesystem::path folder, int64_t now_ns = 0);

  // Where the index of `folder` lies below `indexes`: a name made of the folder's own.
  static std::filesystem::path file_for(const std::filesystem::path& indexes, const std::filesystem::path& folder);

  // Nothing when the picture is not known, or is not the same any more.
  std::optional<IndexEntry> find(const std::filesystem::path& picture, const FileStamp& stamp);
  // What was found out now. A file that changed within the last seconds is not remembered: it may change again without
  // another time.
  void add(const std::filesystem::path& picture, const IndexEntry& entry);
  // Writes all entries that were found or added, if that is not what the file has. Pictures that are gone are
  // forgotten. Returns why it could not be written, or "".
  std::string save();

  const std::string& problem() const { return problem_; }
  // Pictures in the file.
  size_t size() const { return used_.size(); }

 private:
  void read();
  std::string_view record(size_t index) const;

  std::filesystem::path file_;
  std::string prefix_;  // of its pictures' paths, with the slash
  std::string problem_;
  std::string content_;            // of the file
  std::vector<uint64_t> offsets_;  // of its records, sorted by name; then the end of the last
  std::vector<char> used_;         // by record; not bits, since several threads set them
  int64_t now_ns_ = 0;
  std::mutex mutex_;
  std::vector<std::string> added_;  // records
};

}  // namespace cinnabar::data
