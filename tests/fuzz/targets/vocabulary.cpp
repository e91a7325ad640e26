#include <algorithm>

#include "cinnabar/text/byte_pairs.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/memory_file.h"

using namespace cinnabar;

// A merges list (packed or plain), whose last line is a word to encode, too.
CINNABAR_FUZZ_TARGET(vocabulary, 2048) {
  const std::string_view all = fuzz::text_of(input);
  const auto lines = std::ranges::count(all, '\n');
  const int64_t merges = std::clamp<int64_t>(lines - 1, 1, 200);
  const text::BytePairs pairs(fuzz::memory_file(input), merges);
  const std::string_view word = all.substr(all.rfind('\n') + 1);
  if (word.empty()) return;
  const std::vector<int64_t> ids = pairs.encode(word);
  fuzz::require(!ids.empty() && ids.size() <= word.size(), "a word has one id a byte at most");
  for (const int64_t id : ids) fuzz::require(id >= 0 && id < 512 + merges, "ids are in the list");
}
