// Byte-pair encoding of words with CLIP's merges list.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cinnabar::text {

// Ids: 0 to 255 the byte characters, 256 to 511 the same at a word's end, then one id a merge, in order of rank.
class BytePairs {
 public:
  // Reads the first `merge_count` merges of the gzip file. Throws Error{Io} when it cannot be read, Error{Format} with
  // the line when it is no merges list.
  BytePairs(const std::filesystem::path& merges_gz, int64_t merge_count);

  // Ids of one word (its UTF-8 bytes, not empty).
  std::vector<int64_t> encode(std::string_view word) const;

 private:
  std::unordered_map<uint64_t, int64_t> merges_;  // left id * 2^32 + right id -> id of the pair
};

}  // namespace cinnabar::text
