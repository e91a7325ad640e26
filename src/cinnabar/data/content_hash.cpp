#include "cinnabar/data/content_hash.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/log.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/byte_source.h"

namespace cinnabar::data {

namespace {

constexpr std::string_view kHeader = "cinnabar-content-hashes-2";
constexpr size_t kMostBytes = size_t{256} << 20;  // about a million files

}  // namespace

// Format: the header line, then "HASH SIZE WRITTEN_NS CHANGED_NS PATH" a line. A path with a line break is not
// remembered.
ContentHashes::ContentHashes(std::filesystem::path index) : index_(std::move(index)) {
  std::error_code error;
  if (index_.empty() || !std::filesystem::is_regular_file(index_, error)) return;
  std::string text;
  try {
    text = base::read_file(index_, kMostBytes);
  } catch (const base::Error& failure) {
    base::log_warning("The index " + index_.string() + " is not read, so files are hashed again: " + failure.message());
    return;
  }
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  if (line != kHeader) {
    base::log_warning("The index " + index_.string() + " is not readable and is made anew.");
    return;
  }
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    Known known;
    std::string path;
    fields >> known.hash >> known.size >> known.written_ns >> known.changed_ns;
    std::getline(fields >> std::ws, path);
    if (fields && known.hash.size() == 64 && !path.empty()) known_[path] = std::move(known);
  }
}

std::string ContentHashes::of(const std::filesystem::path& file) {
  const std::string path = std::filesystem::absolute(file).lexically_normal().string();
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    throw base::Error(base::ErrorCode::Io, "cannot read " + path + ": " + std::strerror(errno));
  }
  const FileStamp stamp = stamp_of(info);
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(path);
    if (found != known_.end() && found->second.size == stamp.size && found->second.written_ns == stamp.written_ns &&
        found->second.changed_ns == stamp.changed_ns) {
      return found->second.hash;
    }
  }
  std::string hash = base::sha256_hex_of_file(path);
  const std::lock_guard lock(mutex_);
  known_[path] = {stamp.size, stamp.written_ns, stamp.changed_ns, hash};
  is_changed_ = true;
  return hash;
}

void ContentHashes::save() {
  const std::lock_guard lock(mutex_);
  if (index_.empty() || !is_changed_) return;
  is_changed_ = false;
  try {
    write_index();
  } catch (const base::Error& error) {
    base::log_warning("Hashes of files are not kept and are computed again at the next start: " + error.message());
  }
}

void ContentHashes::write_index() const {
  base::AtomicFile file(index_);
  file.write(std::string(kHeader) + "\n");
  for (const auto& [path, known] : known_) {
    if (path.find('\n') != std::string::npos) continue;
    file.write(known.hash + " " + std::to_string(known.size) + " " + std::to_string(known.written_ns) + " " +
               std::to_string(known.changed_ns) + " " + path + "\n");
  }
  file.commit();
}

}  // namespace cinnabar::data
