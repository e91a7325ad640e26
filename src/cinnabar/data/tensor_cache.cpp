#include "cinnabar/data/tensor_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/formats/checksum.h"
#include "cinnabar/formats/safetensors_writer.h"

namespace cinnabar::data {

namespace {

constexpr uint64_t kShardBytes = uint64_t{64} << 20;
constexpr uint64_t kCheckedAtOpening = uint64_t{256} << 20;
constexpr char kSeparator = '/';
constexpr const char* kFormat = "cinnabar-cache-2";

// Name in the metadata of a shard; the value is the CRC-32 in hexadecimal digits.
std::string checksum_name(const std::string& tensor) { return "crc32/" + tensor; }

std::string checksum_text(const formats::TensorView& view) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", formats::crc32_of(view.bytes));
  return text;
}

// Throws Error{Format}.
void check_tensor(const formats::Checkpoint& shard, const std::string& name, const formats::TensorView& view) {
  const auto found = shard.metadata().find(checksum_name(name));
  if (found != shard.metadata().end() && found->second == checksum_text(view)) return;
  throw base::Error(base::ErrorCode::Format, shard.path().string() + ": the checksum of " + name + " is not right");
}

// What is in it can be computed again, and would be warned of at each start. A link or another thing stays.
bool remove_damaged(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::regular &&
         base::file_calls().unlink(path) == 0;
}

}  // namespace

// Bytes of one tensor that no shard holds.
struct TensorCache::Owned {
  std::vector<std::byte> bytes;
};

TensorCache::TensorCache(std::filesystem::path folder, std::string kind)
    : folder_(std::move(folder)), kind_(std::move(kind)) {
  if (folder_.empty()) return;
  if (!base::make_folders(folder_)) {
    throw base::write_error("cannot make the cache folder", folder_, errno,
                            "; choose another folder, or cache in memory (--cache_latents)");
  }
  base::remove_leftovers(folder_);  // of killed programs
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kind_ + "-") && name.ends_with(".safetensors")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  uint64_t bytes = 0;
  for (const auto& path : found) {
    std::error_code error;
    if (const auto size = std::filesystem::file_size(path, error); !error) bytes += size;
  }
  for (const auto& path : found) open_shard(path, bytes <= kCheckedAtOpening ? Check::Now : Check::AtUse);
}

TensorCache::~TensorCache() = default;

void TensorCache::open_shard(const std::filesystem::path& path, Check check) {
  const std::string digits = path.stem().string().substr(kind_.size() + 1);
  const bool is_number =
      !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) next_shard_ = std::max(next_shard_, static_cast<uint64_t>(std::stoull(digits)) + 1);
  try {
    auto shard = formats::Checkpoint::open(path);
    const auto format = shard->metadata().find("format");
    if (format == shard->metadata().end() || format->second != kFormat)
      throw base::Error(base::ErrorCode::Format, "it was written by another version, or is no cache");
    if (check == Check::Now) {
      for (const auto& [name, view] : shard->tensors()) check_tensor(*shard, name, view);
    }
    for (const auto& [name, view] : shard->tensors()) {
      const size_t cut = name.find(kSeparator);
      if (cut == std::string::npos) continue;
      const std::string key = name.substr(0, cut);
      entries_[key][name.substr(cut + 1)] = view;
      if (check == Check::AtUse) unchecked_[key] = shard.get();
    }
    shards_.push_back(std::move(shard));
  } catch (const base::Error& error) {
    const bool is_removed = error.code() == base::ErrorCode::Format && remove_damaged(path);
    problems_.push_back(path.string() + " is left out of the cache and will be made again: " + error.what() +
                        (is_removed ? ". It was removed" : ""));
  }
}

bool TensorCache::has(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(key);
}

CachedTensors TensorCache::get(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  CINNABAR_ASSERT(found != entries_.end());
  check_entry(key, found->second);
  return found->second;
}

void TensorCache::check_entry(const std::string& key, const CachedTensors& tensors) const {
  const auto found = unchecked_.find(key);
  if (found == unchecked_.end()) return;
  const formats::Checkpoint& shard = *found->second;
  try {
    for (const auto& [name, view] : tensors) check_tensor(shard, key + kSeparator + name, view);
  } catch (const base::Error& error) {
    throw base::Error(base::ErrorCode::Data,
                      std::string("a cache file is damaged: ") + error.what() +
                          (remove_damaged(shard.path()) ? "; it was removed, and the next start makes it again"
                                                        : "; remove it, and the next start makes it again"));
  }
  unchecked_.erase(found);
}

void TensorCache::put(const std::string& key, const CachedTensors& tensors) {
  const std::lock_guard lock(mutex_);
  if (entries_.contains(key)) return;
  CachedTensors stored;
  for (const auto& [name, view] : tensors) {
    owned_.push_back(std::make_unique<Owned>(Owned{{view.bytes.begin(), view.bytes.end()}}));
    stored[name] = {view.dtype, view.shape, owned_.back()->bytes};
    pending_bytes_ += view.bytes.size();
  }
  entries_[key] = std::move(stored);
  if (folder_.empty()) return;
  pending_.push_back(key);
  if (pending_bytes_ >= kShardBytes) write_pending();
}

void TensorCache::flush() {
  const std::lock_guard lock(mutex_);
  write_pending();
}

void TensorCache::write_pending() {
  if (pending_.empty()) return;
  std::vector<formats::NamedTensor> tensors;
  std::map<std::string, std::string> metadata{{"format", kFormat}};
  for (const std::string& key : pending_) {
    for (const auto& [name, view] : entries_.at(key)) {
      tensors.push_back({key + kSeparator + name, view});
      metadata[checksum_name(tensors.back().name)] = checksum_text(view);
    }
  }
  std::string number = std::to_string(next_shard_++);
  number.insert(0, 6 - std::min<size_t>(6, number.size()), '0');
  const std::filesystem::path path = folder_ / (kind_ + "-" + number + ".safetensors");
  base::kill_point("cache.before");
  formats::write_safetensors(path, std::move(tensors), metadata);
  base::kill_point("cache.written");
  pending_.clear();
  pending_bytes_ = 0;
  const size_t shards_before = shards_.size();
  open_shard(path, Check::Never);
  if (shards_.size() > shards_before) owned_.clear();  // the shard's pages serve the entries from here on
}

size_t TensorCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace cinnabar::data
