#include "cinnabar/text/clip_tokenizer.h"

#include <array>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "cinnabar/base/error.h"
#include "cinnabar/text/byte_pairs.h"
#include "cinnabar/text/clip_words.h"
#include "cinnabar/text/merges_file.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::text {
namespace {

// 49408 ids in all: 512 single bytes, the merges, the two special tokens.
constexpr int64_t kMerges = ClipTokenizer::kBegin - 512;
constexpr size_t kCachedWords = 1U << 16U;
constexpr size_t kCachedWordBytes = 64;

constexpr std::string_view kBeginText = "<|startoftext|>";
constexpr std::string_view kEndText = "<|endoftext|>";

}  // namespace

struct ClipTokenizer::Tables {
  explicit Tables(const std::filesystem::path& merges_gz) : pairs(merges_gz, kMerges) {}

  void append(const std::string& word, std::vector<int64_t>& ids) {
    if (word == kBeginText || word == kEndText) {
      ids.push_back(word == kBeginText ? kBegin : kEnd);
      return;
    }
    {
      const std::shared_lock lock(mutex);
      if (const auto found = cache.find(word); found != cache.end()) {
        ids.insert(ids.end(), found->second.begin(), found->second.end());
        return;
      }
    }
    std::vector<int64_t> encoded = pairs.encode(word);
    ids.insert(ids.end(), encoded.begin(), encoded.end());
    if (word.size() > kCachedWordBytes) return;
    const std::unique_lock lock(mutex);
    if (cache.size() >= kCachedWords) cache.clear();
    cache.emplace(word, std::move(encoded));
  }

  BytePairs pairs;
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::vector<int64_t>> cache;
};

ClipTokenizer::ClipTokenizer(const std::filesystem::path& merges_gz) : tables_(std::make_unique<Tables>(merges_gz)) {}
ClipTokenizer::~ClipTokenizer() = default;

const ClipTokenizer& ClipTokenizer::shared() {
  static const ClipTokenizer tokenizer(find_merges_file());
  return tokenizer;
}

void ClipTokenizer::encode_part(std::string_view text, std::vector<int64_t>& ids) const {
  for (const std::string& word : split_words(clean_for_clip(decode_utf8(text)))) tables_->append(word, ids);
}

std::vector<int64_t> ClipTokenizer::encode(std::string_view text, Padding padding) const {
  struct Special {
    std::string_view text;
    int64_t id;
  };
  // Cut out before the text is repaired and lower-cased, so that only the exact spelling counts here.
  static constexpr std::array<Special, 3> kSpecials{{{kBeginText, kBegin}, {kEndText, kEnd}, {"!", 0}}};
  std::vector<int64_t> ids;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const Special* found = nullptr;
    for (const Special& special : kSpecials)
      if (text.substr(at).starts_with(special.text) && (special.id != 0 || padding == Padding::Zero)) found = &special;
    if (found == nullptr) {
      ++at;
      continue;
    }
    encode_part(text.substr(start, at - start), ids);
    ids.push_back(found->id);
    at += found->text.size();
    start = at;
  }
  encode_part(text.substr(start), ids);
  return ids;
}

std::vector<std::vector<int64_t>> ClipTokenizer::encode_chunks(std::string_view text, int64_t max_token_length,
                                                               Padding padding) const {
  const int64_t length = text_length(max_token_length);
  std::vector<int64_t> ids = encode(text, padding);
  if (static_cast<int64_t>(ids.size()) > length) ids.resize(static_cast<size_t>(length));
  ids.insert(ids.begin(), kBegin);
  ids.push_back(kEnd);
  ids.resize(static_cast<size_t>(length + 2), padding_id(padding));
  return cut_into_rows(ids, padding);
}

int64_t text_length(int64_t max_token_length) {
  const int64_t length = max_token_length == 0 ? ClipTokenizer::kChunk : max_token_length;
  if (length < ClipTokenizer::kChunk || length % ClipTokenizer::kChunk != 0)
    throw base::Error(base::ErrorCode::Config, "max_token_length = " + std::to_string(max_token_length) +
                                                   ": expected a multiple of 75 (75, 150 or 225), or unset for 75");
  return length;
}

std::vector<std::vector<int64_t>> cut_into_rows(const std::vector<int64_t>& row, Padding padding) {
  const auto chunk = static_cast<ptrdiff_t>(ClipTokenizer::kChunk);
  const ptrdiff_t count = (static_cast<ptrdiff_t>(row.size()) - 2) / chunk;
  if (count <= 1) return {row};
  const int64_t pad = ClipTokenizer::padding_id(padding);
  std::vector<std::vector<int64_t>> rows;
  for (ptrdiff_t i = 0; i < count; ++i) {
    std::vector<int64_t>& cut = rows.emplace_back();
    cut.push_back(row.front());
    cut.insert(cut.end(), row.begin() + 1 + i * chunk, row.begin() + 1 + (i + 1) * chunk);
    cut.push_back(row.back());
    if (padding == Padding::EndToken) continue;
    const int64_t last = cut[ClipTokenizer::kChunk];
    if (last != ClipTokenizer::kEnd && last != pad) cut.back() = ClipTokenizer::kEnd;
    if (cut[1] == pad) cut[1] = ClipTokenizer::kEnd;
  }
  return rows;
}

}  // namespace cinnabar::text
