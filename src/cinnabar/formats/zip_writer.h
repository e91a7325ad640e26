// Writes zip archives of stored (not compressed) entries; Zip64 where an archive grows over 4 GiB.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/base/atomic_file.h"

namespace cinnabar::formats {

class StoredZipWriter {
 public:
  // The file appears under its name with commit().
  explicit StoredZipWriter(const std::filesystem::path& path) : path_(path.string()), file_(path) {}

  // The content starts at a multiple of 64 bytes, as torch wants it for mapping. Throws Error{Format} for an entry of 4
  // GiB and more, Error{Io} or Error{OutOfSpace}.
  void add(const std::string& name, std::span<const std::byte> content);
  void add(const std::string& name, std::string_view text) { add(name, std::as_bytes(std::span(text))); }
  // Writes the directory; nothing can be added afterwards.
  void commit();

 private:
  struct Entry {
    std::string name;
    uint32_t checksum = 0;
    uint32_t size_bytes = 0;
    uint64_t offset = 0;
  };

  void write(std::string_view bytes);

  std::string path_;
  base::AtomicFile file_;
  uint64_t written_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace cinnabar::formats
