#include "cinnabar/train/model_files.h"

#include <sys/stat.h>

#include <algorithm>

#include "cinnabar/base/error.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/byte_source.h"

namespace cinnabar::train {

std::string ModelFiles::add_file(const std::filesystem::path& path, data::ContentHashes& hashes) {
  struct stat info{};
  const bool is_there = ::stat(path.c_str(), &info) == 0;
  std::string hash = hashes.of(path);  // says what is wrong when it is not there
  if (is_there) files_.push_back({path, hash, info.st_dev, info.st_ino, data::stamp_of(info).written_ns, info.st_size});
  return hash;
}

std::string ModelFiles::add(const std::filesystem::path& path, data::ContentHashes& hashes) {
  if (!std::filesystem::is_directory(path)) return add_file(path, hashes);
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    const std::string extension = entry.path().extension().string();
    const bool has_weights = extension == ".safetensors" || extension == ".bin";
    if (entry.is_regular_file() && has_weights) all += add_file(entry.path(), hashes) + "\n";
  }
  return base::sha256_hex(all);
}

std::string ModelFiles::hash_of(const std::filesystem::path& path) const {
  const auto found = std::ranges::find(files_, path, &File::path);
  return found == files_.end() ? "" : found->hash;
}

void ModelFiles::check() const {
  for (const File& file : files_) {
    struct stat now{};
    // Removed or replaced: the mapping goes on to show the file that was opened.
    if (::stat(file.path.c_str(), &now) != 0 || now.st_dev != file.device || now.st_ino != file.inode) continue;
    const bool is_untouched = now.st_size == file.size && data::stamp_of(now).written_ns == file.written_ns;
    if (is_untouched || base::sha256_hex_of_file(file.path) == file.hash) continue;
    throw base::Error(base::ErrorCode::Io,
                      file.path.string() +
                          ": the model was changed by another program while it was trained on, so what was trained "
                          "since the last save is not to be trusted. Bring the file back and resume the run");
  }
}

}  // namespace cinnabar::train
