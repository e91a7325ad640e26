#include "cinnabar/jobs/file_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/process.h"
#include "cinnabar/base/sha256.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

namespace {

constexpr size_t kPiece = size_t{1} << 20;

std::optional<FileFacts> facts_of_file(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileFacts{.bytes = S_ISREG(status.st_mode) ? static_cast<int64_t>(status.st_size) : 0,
                   .modified_ns = static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec,
                   .is_folder = S_ISDIR(status.st_mode)};
}

// Regular files below `folder`, in order. A folder that changes meanwhile gives what was there.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !at->is_symlink(ignored)) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::string> hash_of_file(const fs::path& path, const std::function<bool()>& is_over) {
  const base::Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!in.is_open() || ::fstat(in.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  base::Sha256 hash;
  std::vector<std::byte> piece(kPiece);
  while (true) {
    if (is_over()) return std::nullopt;
    const ssize_t count = ::read(in.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return hash.hex();
    hash.update(std::span(piece.data(), static_cast<size_t>(count)));
  }
}

}  // namespace

std::optional<FileFacts> facts_of(const fs::path& path) {
  std::optional<FileFacts> facts = facts_of_file(path);
  if (!facts || !facts->is_folder) return facts;
  facts->modified_ns = 0;
  for (const fs::path& file : files_of(path)) {
    const auto part = facts_of_file(file);
    if (!part) continue;
    facts->bytes += part->bytes;
    facts->modified_ns = std::max(facts->modified_ns, part->modified_ns);
  }
  return facts;
}

std::optional<std::string> hash_of(const fs::path& path, const std::function<bool()>& is_over) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return hash_of_file(path, is_over);
  // A manifest names the hashes of all the other files: states of many GB need not be read again.
  if (fs::is_regular_file(path / base::kManifestName, error)) return hash_of_file(path / base::kManifestName, is_over);
  std::string list;
  for (const fs::path& file : files_of(path)) {
    const auto hash = hash_of_file(file, is_over);
    if (!hash) return std::nullopt;
    list += *hash + "  " + fs::relative(file, path, error).string() + "\n";
  }
  return base::sha256_hex(list);
}

}  // namespace cinnabar::jobs
