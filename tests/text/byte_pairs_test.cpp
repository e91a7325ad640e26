#include "cinnabar/text/byte_pairs.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <sstream>

#include "formats/temporary_folder.h"

namespace cinnabar::text {
namespace {

// "ab c" and "a bc" give one string under two ids, and some pairs overlap themselves.
const std::string kMerges =
    "#version: 0.2\na b\nb c\nab c\na bc\nabc a\na a\naa a</w>\nb b</w>\nabc abc\nc a\nca b\naa aa\nabca c</w>\n";

// The rule as it is usually told: passes over the whole word, each joins every occurrence of the pair of lowest rank.
class Passes {
 public:
  explicit Passes(const std::string& merges) {
    std::map<std::string, int64_t> ids;
    for (const char c : std::string("abc")) {
      ids[{c}] = c - 0x21;
      ids[std::string{c} + "</w>"] = 256 + c - 0x21;
    }
    std::istringstream lines(merges);
    std::string left, right;
    std::getline(lines, left);
    for (int64_t id = 512; lines >> left >> right; ++id) {
      pairs_.emplace(std::pair{ids.at(left), ids.at(right)}, id);
      ids[left + right] = id;
    }
  }

  std::vector<int64_t> encode(const std::string& word) const {
    std::vector<int64_t> ids;
    for (const char c : word) ids.push_back(c - 0x21);
    ids.back() += 256;
    for (;;) {
      std::pair<int64_t, int64_t> best;
      int64_t best_id = INT64_MAX;
      for (size_t i = 0; i + 1 < ids.size(); ++i) {
        const auto found = pairs_.find({ids[i], ids[i + 1]});
        if (found != pairs_.end() && found->second < best_id) std::tie(best, best_id) = *found;
      }
      if (best_id == INT64_MAX) return ids;
      std::vector<int64_t> joined;
      for (size_t i = 0; i < ids.size(); ++i) {
        const bool is_pair = i + 1 < ids.size() && std::pair{ids[i], ids[i + 1]} == best;
        joined.push_back(is_pair ? best_id : ids[i]);
        i += is_pair ? 1 : 0;
      }
      ids = joined;
    }
  }

 private:
  std::map<std::pair<int64_t, int64_t>, int64_t> pairs_;
};

TEST_CASE("pairs_are_joined_as_by_passes_over_the_word") {
  const formats::TemporaryFolder folder;
  const BytePairs pairs(folder.put("merges.txt", kMerges), 13);
  const Passes passes(kMerges);
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string word;
    for (size_t length = 1 + random() % 24; length > 0; --length) word += "abc"[random() % 3];
    CAPTURE(word);
    CHECK(pairs.encode(word) == passes.encode(word));
  }
}

}  // namespace
}  // namespace cinnabar::text
