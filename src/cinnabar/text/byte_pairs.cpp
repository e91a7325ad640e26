#include "cinnabar/text/byte_pairs.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <queue>
#include <string>
#include <tuple>

#include "cinnabar/base/error.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::text {
namespace {

constexpr int64_t kBytes = 256;
constexpr std::string_view kWordEnd = "</w>";
constexpr size_t kMaxListBytes = size_t{64} << 20;

// Id of each byte: the list writes bytes as printable characters, first those that print as themselves in Latin-1, then
// the others as U+0100 and up.
std::array<int64_t, kBytes> byte_ids() {
  std::array<int64_t, kBytes> ids{};
  ids.fill(-1);
  int64_t next = 0;
  const auto add = [&](size_t first, size_t last) {
    for (size_t byte = first; byte <= last; ++byte)
      if (ids.at(byte) < 0) ids.at(byte) = next++;
  };
  add(0x21, 0x7E);
  add(0xA1, 0xAC);
  add(0xAE, 0xFF);
  add(0x00, 0xFF);
  return ids;
}

const std::array<int64_t, kBytes>& ids_of_bytes() {
  static const std::array<int64_t, kBytes> ids = byte_ids();
  return ids;
}

std::string read_gzip(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file)
    throw base::Error(base::ErrorCode::Io, path.string() +
                                               ": cannot open the CLIP merges list: " + std::strerror(errno) +
                                               ". Run ./cinnabar setup, or name the file in CINNABAR_CLIP_BPE");
  std::string text;
  std::array<char, size_t{1} << 16> block{};
  for (;;) {
    const int count = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    if (count < 0)
      throw base::Error(base::ErrorCode::Format, path.string() + ": damaged gzip file. Run ./cinnabar setup again");
    if (count == 0) break;
    text.append(block.data(), static_cast<size_t>(count));
    if (text.size() > kMaxListBytes)
      throw base::Error(base::ErrorCode::Format,
                        path.string() + ": over 64 MiB unpacked, expected a CLIP merges list (about 3 MiB)");
  }
  // gzread returns a short count without an error when the file ends inside the stream.
  int status = Z_OK;
  gzerror(file.get(), &status);
  if (status != Z_OK && status != Z_STREAM_END)
    throw base::Error(base::ErrorCode::Format,
                      path.string() + ": the gzip file is cut off. Run ./cinnabar setup again");
  return text;
}

std::unordered_map<std::string, int64_t> first_symbols() {
  std::unordered_map<std::string, int64_t> ids;
  int64_t next = 0x100;
  for (int64_t byte = 0; byte < kBytes; ++byte) {
    const bool prints = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    std::string symbol;
    append_utf8(static_cast<char32_t>(prints ? byte : next++), symbol);
    const int64_t id = ids_of_bytes().at(static_cast<size_t>(byte));
    ids.emplace(symbol, id);
    ids.emplace(symbol.append(kWordEnd), kBytes + id);
  }
  return ids;
}

uint64_t pair_key(int64_t left, int64_t right) {
  return static_cast<uint64_t>(left) << 32U | static_cast<uint64_t>(right);
}

// Merges neighbours in the order of rank, the leftmost first, until none is in the list. A pair that holds a merged
// symbol has a greater id than that symbol, so a queue by id meets the pairs in the same order as passes over the whole
// word would; passes take a time that grows with the length times the number of different merges.
class Joiner {
 public:
  Joiner(const std::unordered_map<uint64_t, int64_t>& merges, std::vector<int64_t>& ids)
      : merges_(merges), ids_(ids), next_(ids.size()), previous_(ids.size()) {
    for (size_t i = 0; i < ids.size(); ++i) {
      next_[i] = i + 1;
      previous_[i] = i == 0 ? kNone : i - 1;
    }
  }

  void run() {
    for (size_t i = 0; i + 1 < ids_.size(); ++i) look_at(i);
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      if (is_current(best)) join(best);
    }
    std::erase(ids_, kGone);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr int64_t kGone = -1;

  struct Candidate {
    int64_t id;
    size_t at;
    std::pair<int64_t, int64_t> symbols;
    bool operator<(const Candidate& other) const { return std::tie(id, at) > std::tie(other.id, other.at); }
  };

  // The pair that begins at `at`, if it can be merged.
  void look_at(size_t at) {
    if (next_[at] >= ids_.size()) return;
    const std::pair<int64_t, int64_t> symbols{ids_[at], ids_[next_[at]]};
    const auto found = merges_.find(pair_key(symbols.first, symbols.second));
    if (found != merges_.end()) queue_.push({found->second, at, symbols});
  }

  // False when one of the two was merged with another meanwhile.
  bool is_current(const Candidate& pair) const {
    return ids_[pair.at] == pair.symbols.first && next_[pair.at] < ids_.size() &&
           ids_[next_[pair.at]] == pair.symbols.second;
  }

  void join(const Candidate& pair) {
    const size_t right = next_[pair.at];
    ids_[pair.at] = pair.id;
    ids_[right] = kGone;
    next_[pair.at] = next_[right];
    if (next_[pair.at] < ids_.size()) previous_[next_[pair.at]] = pair.at;
    if (previous_[pair.at] != kNone) look_at(previous_[pair.at]);
    look_at(pair.at);
  }

  const std::unordered_map<uint64_t, int64_t>& merges_;
  std::vector<int64_t>& ids_;
  std::vector<size_t> next_;
  std::vector<size_t> previous_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

BytePairs::BytePairs(const std::filesystem::path& merges_gz, int64_t merge_count) {
  const std::string text = read_gzip(merges_gz);
  std::unordered_map<std::string, int64_t> symbols = first_symbols();
  merges_.reserve(static_cast<size_t>(merge_count));
  size_t at = text.find('\n');  // the first line is a version
  for (int64_t rank = 0; rank < merge_count; ++rank) {
    const size_t start = at == std::string::npos ? text.size() : at + 1;
    at = text.find('\n', start);
    const std::string line = text.substr(start, at == std::string::npos ? at : at - start);
    const size_t space = line.find(' ');
    const auto left = symbols.find(line.substr(0, space));
    const auto right = symbols.find(space == std::string::npos ? "" : line.substr(space + 1));
    if (left == symbols.end() || right == symbols.end())
      throw base::Error(base::ErrorCode::Format,
                        merges_gz.string() + ": line " + std::to_string(rank + 2) + ": found \"" + line.substr(0, 80) +
                            "\", expected two known symbols of " + std::to_string(merge_count) +
                            " merges. Run ./cinnabar setup again");
    const int64_t id = 2 * kBytes + rank;
    merges_.emplace(pair_key(left->second, right->second), id);
    symbols.insert_or_assign(left->first + right->first, id);
  }
}

std::vector<int64_t> BytePairs::encode(std::string_view word) const {
  std::vector<int64_t> ids;
  ids.reserve(word.size());
  for (const char byte : word) ids.push_back(ids_of_bytes().at(static_cast<uint8_t>(byte)));
  if (!ids.empty()) ids.back() += kBytes;
  Joiner(merges_, ids).run();
  return ids;
}

}  // namespace cinnabar::text
