// The files that a run's base model comes from: their hashes, and whether they stay as they are while they are mapped.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/data/content_hash.h"

namespace cinnabar::train {

class ModelFiles {
 public:
  // A file, or a folder with weights in it. Gives its SHA-256, for a folder that of its files' hashes. Throws
  // Error{Io}.
  std::string add(const std::filesystem::path& path, data::ContentHashes& hashes);

  // SHA-256 of a file that was added; "" for others.
  std::string hash_of(const std::filesystem::path& path) const;

  // Weights may be read from a file's mapping for the whole run. Throws Error{Io} when one of the files was written to
  // since: what was computed from it then is not to be saved. A file that was replaced by another one of its name, or
  // whose content is the same, is no fault.
  void check() const;

 private:
  struct File {
    std::filesystem::path path;
    std::string hash;
    dev_t device = 0;
    ino_t inode = 0;
    int64_t written_ns = 0;
    off_t size = 0;
  };
  std::string add_file(const std::filesystem::path& path, data::ContentHashes& hashes);

  std::vector<File> files_;
};

}  // namespace cinnabar::train
