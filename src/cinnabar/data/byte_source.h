// Bytes of a file or a buffer at any offset, for reading a few header fields without loading the rest.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace cinnabar::data {

// Tells whether a file is still the one that was read.
struct FileStamp {
  uint64_t size = 0;
  int64_t written_ns = 0;  // as programs may set it
  int64_t changed_ns = 0;  // of the file system: tells an edit that put the other one back
  uint64_t inode = 0;      // tells a file that was moved to this name

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp stamp_of(const struct stat& info);

class ByteSource {
 public:
  // `bytes` must outlive the source.
  explicit ByteSource(std::span<const uint8_t> bytes);
  // Regular files only. Throws Error{Io}.
  explicit ByteSource(const std::filesystem::path& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  uint64_t size() const { return size_; }
  // Of the file when it was opened.
  const FileStamp& stamp() const { return stamp_; }
  // False when the source ends before `offset` + the size of `out`, or cannot be read.
  bool read(uint64_t offset, std::span<uint8_t> out);
  // `length` characters, or "" when they are not all there.
  std::string text(uint64_t offset, size_t length);
  // Whole numbers of 1 to 4 bytes, big- or little-endian; nothing past the end.
  std::optional<uint32_t> big(uint64_t offset, size_t bytes);
  std::optional<uint32_t> little(uint64_t offset, size_t bytes);

 private:
  std::span<const uint8_t> memory_;
  int fd_ = -1;
  uint64_t size_ = 0;
  FileStamp stamp_{};
  struct Block {
    std::array<uint8_t, 8192> bytes;
    uint64_t start = 0;
    size_t size = 0;
  };
  // Reads the block from `start` on where it does not hold [start, end). False when they are not to be had.
  bool fill(Block& block, uint64_t start, uint64_t end);

  // The beginning, which is asked for more than once, and the last other block, since header fields lie close together.
  Block head_;
  Block last_;
};

}  // namespace cinnabar::data
