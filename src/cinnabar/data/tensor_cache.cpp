#include "cinnabar/data/tensor_cache.h"

#include <algorithm>
#include <cerrno>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/formats/safetensors_writer.h"

namespace cinnabar::data {

namespace {

constexpr uint64_t kShardBytes = uint64_t{64} << 20;
constexpr char kSeparator = '/';

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
  for (const auto& path : found) open_shard(path);
}

TensorCache::~TensorCache() = default;

void TensorCache::open_shard(const std::filesystem::path& path) {
  const std::string digits = path.stem().string().substr(kind_.size() + 1);
  const bool is_number =
      !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) next_shard_ = std::max(next_shard_, static_cast<uint64_t>(std::stoull(digits)) + 1);
  try {
    auto shard = formats::Checkpoint::open(path);
    for (const auto& [name, view] : shard->tensors()) {
      const size_t cut = name.find(kSeparator);
      if (cut == std::string::npos) continue;
      entries_[name.substr(0, cut)][name.substr(cut + 1)] = view;
    }
    shards_.push_back(std::move(shard));
  } catch (const base::Error& error) {
    problems_.push_back(path.string() + " is left out of the cache and will be made again: " + error.what());
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
  return found->second;
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
  for (const std::string& key : pending_) {
    for (const auto& [name, view] : entries_.at(key)) tensors.push_back({key + kSeparator + name, view});
  }
  std::string number = std::to_string(next_shard_++);
  number.insert(0, 6 - std::min<size_t>(6, number.size()), '0');
  const std::filesystem::path path = folder_ / (kind_ + "-" + number + ".safetensors");
  base::kill_point("cache.before");
  formats::write_safetensors(path, std::move(tensors), {{"format", "cinnabar-cache-1"}});
  base::kill_point("cache.written");
  pending_.clear();
  pending_bytes_ = 0;
  const size_t shards_before = shards_.size();
  open_shard(path);
  if (shards_.size() > shards_before) owned_.clear();  // the shard's pages serve the entries from here on
}

size_t TensorCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace cinnabar::data
