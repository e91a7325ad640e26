// SHA-256 of files, remembered by path, size and both times of change, so that a second start need not read them again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>

namespace cinnabar::data {

// Safe for several threads.
class ContentHashes {
 public:
  // `index` is the file that remembers; empty keeps nothing. An index that cannot be read is started anew.
  explicit ContentHashes(std::filesystem::path index);

  // 64 hex digits. Throws Error{Io} when the file cannot be read.
  std::string of(const std::filesystem::path& file);
  // Writes the index if anything was added. One that cannot be written is a warning in the log: it only saves time.
  void save();

 private:
  struct Known {
    uint64_t size = 0;
    int64_t written_ns = 0;  // as programs may set it
    int64_t changed_ns = 0;  // of the file system: tells an edit that put the other one back
    std::string hash;
  };

  void write_index() const;

  std::filesystem::path index_;
  std::mutex mutex_;
  std::unordered_map<std::string, Known> known_;
  bool is_changed_ = false;
};

}  // namespace cinnabar::data
