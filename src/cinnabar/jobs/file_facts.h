// Size, time of change and SHA-256 of a file that a run saved; of a folder, those of all that is in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace cinnabar::jobs {

struct FileFacts {
  int64_t bytes = 0;
  int64_t modified_ns = 0;  // of a folder: the latest of its files
  bool is_folder = false;
  bool operator==(const FileFacts&) const = default;
};

// Nothing when there is no such file or folder.
std::optional<FileFacts> facts_of(const std::filesystem::path& path);

// 64 hex digits. A folder's is that of its manifest (base/committed_folder.h), or without one, of a list of its files,
// each with its own hash. Nothing when `is_over` says so in between, or when a file cannot be read. Reads in pieces: a
// file that shrinks meanwhile does no harm.
std::optional<std::string> hash_of(const std::filesystem::path& path, const std::function<bool()>& is_over);

}  // namespace cinnabar::jobs
