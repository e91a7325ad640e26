#include "cinnabar/data/tensor_cache.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "cinnabar/base/error.h"
#include "cinnabar/data/content_hash.h"
#include "formats/temporary_folder.h"

using cinnabar::data::CachedTensors;
using cinnabar::data::ContentHashes;
using cinnabar::data::TensorCache;
using cinnabar::formats::TemporaryFolder;

namespace {

CachedTensors tensors_of(const std::vector<float>& values) {
  return {{"moments",
           {cinnabar::formats::Dtype::F32, {static_cast<int64_t>(values.size())}, std::as_bytes(std::span(values))}}};
}

std::vector<float> values_of(const CachedTensors& tensors) {
  const auto& view = tensors.at("moments");
  std::vector<float> values(view.bytes.size() / sizeof(float));
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

}  // namespace

TEST_CASE("keeps_entries_over_a_restart") {
  const TemporaryFolder folder;
  {
    TensorCache cache(folder / "deep/cache", "latents");
    cache.put("a", tensors_of({1.0F, 2.0F}));
    cache.flush();
    cache.put("b", tensors_of({3.0F}));
    cache.flush();
    CHECK(values_of(cache.get("a")) == std::vector<float>{1.0F, 2.0F});
  }
  TensorCache again(folder / "deep/cache", "latents");
  CHECK(again.size() == 2);
  CHECK(again.problems().empty());
  CHECK(values_of(again.get("a")) == std::vector<float>{1.0F, 2.0F});
  CHECK(values_of(again.get("b")) == std::vector<float>{3.0F});
}

TEST_CASE("leaves_out_a_damaged_shard_and_names_it") {
  const TemporaryFolder folder;
  {
    TensorCache cache(folder / "cache", "latents");
    cache.put("a", tensors_of({1.0F}));
    cache.flush();
    cache.put("b", tensors_of({2.0F}));
    cache.flush();
  }
  std::ofstream(folder / "cache/latents-000000.safetensors", std::ios::trunc) << "torn";
  TensorCache again(folder / "cache", "latents");
  CHECK_FALSE(again.has("a"));
  CHECK(again.has("b"));
  REQUIRE(again.problems().size() == 1);
  CHECK(again.problems().front().find("latents-000000.safetensors") != std::string::npos);
  again.put("a", tensors_of({1.0F}));
  again.flush();
  CHECK(std::filesystem::exists(folder / "cache/latents-000002.safetensors"));
}

TEST_CASE("changed_data_is_found_by_its_checksum_and_the_shard_removed") {
  const TemporaryFolder folder;
  const auto shard = folder / "cache/latents-000000.safetensors";
  {
    TensorCache cache(folder / "cache", "latents");
    cache.put("a", tensors_of({1.0F, 2.0F}));
    cache.put("b", tensors_of({3.0F}));
    cache.flush();
  }
  {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x7F');
  }
  TensorCache again(folder / "cache", "latents");
  CHECK_FALSE(again.has("a"));
  CHECK_FALSE(again.has("b"));
  REQUIRE(again.problems().size() == 1);
  CHECK(again.problems().front().find("the checksum of b/moments is not right. It was removed") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(shard));
}

TEST_CASE("a_large_cache_is_checked_entry_by_entry_when_used") {
  const TemporaryFolder folder;
  const std::vector<float> large(size_t{17} << 20, 1.0F);  // 68 MiB: each entry is a shard
  {
    TensorCache cache(folder / "cache", "latents");
    for (const char* key : {"a", "b", "c", "d"}) cache.put(key, tensors_of(large));
    cache.flush();
  }
  const auto shard = folder / "cache/latents-000001.safetensors";
  {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x7F');
  }
  const TensorCache again(folder / "cache", "latents");
  CHECK(again.problems().empty());
  CHECK(values_of(again.get("a")) == large);
  CHECK_THROWS_WITH_AS(again.get("b"), doctest::Contains("the checksum of b/moments is not right; it was removed"),
                       cinnabar::base::Error);
  CHECK_FALSE(std::filesystem::exists(shard));
  CHECK(values_of(again.get("c")) == large);
}

TEST_CASE("other_kinds_in_the_same_folder_are_not_seen") {
  const TemporaryFolder folder;
  TensorCache latents(folder / "cache", "latents");
  latents.put("a", tensors_of({1.0F}));
  latents.flush();
  CHECK_FALSE(TensorCache(folder / "cache", "text").has("a"));
}

TEST_CASE("without_a_folder_entries_stay_in_memory") {
  TensorCache cache("", "latents");
  cache.put("a", tensors_of({4.0F}));
  cache.flush();
  CHECK(values_of(cache.get("a")) == std::vector<float>{4.0F});
}

TEST_CASE("an_index_of_hashes_that_cannot_be_read_costs_time_alone") {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.png") << "one";
  std::ofstream(folder / "files.txt") << "x";
  std::filesystem::resize_file(folder / "files.txt", uintmax_t{1} << 40);  // over the limit
  ContentHashes hashes(folder / "files.txt");
  const std::string hash = hashes.of(folder / "a.png");
  CHECK(hash == ContentHashes("").of(folder / "a.png"));
  hashes.save();
  CHECK(std::filesystem::file_size(folder / "files.txt") < 1000);
}

TEST_CASE("content_hash_follows_a_changed_file") {
  const TemporaryFolder folder;
  const auto file = folder / "a.png";
  std::ofstream(file) << "one";
  std::string first;
  {
    ContentHashes hashes(folder / "files.txt");
    first = hashes.of(file);
    CHECK(first == hashes.of(file));
    hashes.save();
  }
  ContentHashes hashes(folder / "files.txt");
  CHECK(hashes.of(file) == first);
  std::ofstream(file) << "three";
  CHECK(hashes.of(file) != first);
}
