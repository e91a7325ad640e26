// Tensors by content key, in memory or in a folder of memory-mapped shards: the store behind latent and text caches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::data {

// What is stored under one key, by name ("moments", "moments_flipped", ...).
using CachedTensors = std::map<std::string, formats::TensorView>;

// Keys are hashes of everything that the value depends on, so an entry is never stale; a changed picture, model or
// setting simply has another key. On disk an entry is in one shard "KIND-NNNNNN.safetensors", complete or absent
// (AtomicFile); shards are only added, so that a run that stops early keeps what it had. Each tensor has a checksum. It
// is looked at when the cache is opened, or, in a cache of more than 256 MiB, when the entry is first used, so that
// opening a large one does not read it. A damaged shard is removed, left out and named in `problems`. Safe for several
// threads.
class TensorCache {
 public:
  // An empty folder name keeps everything in memory. A missing folder is made. Throws Error{Io} when it cannot be.
  TensorCache(std::filesystem::path folder, std::string kind);
  ~TensorCache();
  TensorCache(const TensorCache&) = delete;
  TensorCache& operator=(const TensorCache&) = delete;

  bool has(const std::string& key) const;
  // The views live as long as the cache, but those of an entry put since the last shard only until that is written
  // (caches are filled first and read later). Throws Error{Internal} for an unknown key, and Error{Data} when the entry
  // turns out to be damaged; its shard is removed then, so that the next start makes it anew.
  CachedTensors get(const std::string& key) const;
  // Copies the tensors. Writes a shard whenever about 64 MiB are waiting.
  void put(const std::string& key, const CachedTensors& tensors);
  // Writes what is waiting. Throws Error{Io} or Error{OutOfSpace}; the entries stay usable in memory.
  void flush();

  size_t size() const;
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Owned;
  enum class Check { Now, AtUse, Never };  // Never: its checksums were made of these bytes just now
  void open_shard(const std::filesystem::path& path, Check check);
  void check_entry(const std::string& key, const CachedTensors& tensors) const;
  void write_pending();

  std::filesystem::path folder_;
  std::string kind_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, CachedTensors> entries_;
  std::vector<std::unique_ptr<formats::Checkpoint>> shards_;
  mutable std::unordered_map<std::string, const formats::Checkpoint*> unchecked_;  // key -> shard
  std::vector<std::unique_ptr<Owned>> owned_;  // of entries that are in memory only, or not yet in a shard
  std::vector<std::string> pending_;
  uint64_t pending_bytes_ = 0;
  uint64_t next_shard_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace cinnabar::data
