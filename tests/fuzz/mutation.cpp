#include "fuzz/mutation.h"

#include <algorithm>
#include <charconv>

namespace cinnabar::fuzz {

namespace {

constexpr int64_t kNumbers[] = {0,       1,          2,          3,          4,         7,        8,     16,
                                31,      32,         63,         64,         127,       128,      255,   256,
                                1024,    4095,       4096,       32767,      -1,        65535,    65536, 1 << 20,
                                1 << 24, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1LL << 40, INT64_MAX};
constexpr std::string_view kTextNumbers[] = {
    "0", "-1", "1e999", "4294967296", "9223372036854775807", "18446744073709551616", "nan"};

}  // namespace

Mutator::Mutator(uint64_t seed, std::vector<Bytes> words, size_t max_bytes)
    : random_(seed), words_(std::move(words)), max_bytes_(max_bytes) {}

// The small bias of the remainder does not matter here, and the result is the same with every library.
size_t Mutator::below(size_t bound) { return static_cast<size_t>(random_() % bound); }

Bytes Mutator::changed(Input from, Input other) {
  Bytes bytes(from.begin(), from.end());
  for (size_t i = 1 + below(5); i > 0; --i) change(bytes, other);
  if (bytes.size() > max_bytes_) bytes.resize(max_bytes_);
  return bytes;
}

void Mutator::insert(Bytes& bytes, Input piece) {
  const auto at = static_cast<std::ptrdiff_t>(below(bytes.size() + 1));
  bytes.insert(bytes.begin() + at, piece.begin(), piece.end());
}

void Mutator::change(Bytes& bytes, Input other) {
  const auto at = [&] { return below(bytes.size()); };
  const auto text = [](std::string_view piece) { return std::as_bytes(std::span(piece)); };
  switch (bytes.empty() ? 6 : below(11)) {
    case 0:  // one bit
      bytes[at()] ^= static_cast<std::byte>(1U << below(8));
      return;
    case 1:  // one byte
      bytes[at()] = static_cast<std::byte>(below(256));
      return;
    case 2: {  // a number of 1 to 8 bytes
      const int64_t number = kNumbers[below(std::size(kNumbers))];
      const size_t width = size_t{1} << below(4);
      const bool is_big_endian = below(2) == 0;
      const size_t start = at();
      for (size_t i = 0; i < width && start + i < bytes.size(); ++i)
        bytes[start + i] = static_cast<std::byte>(number >> (8 * (is_big_endian ? width - 1 - i : i)));
      return;
    }
    case 3: {  // a piece left out
      const size_t start = at();
      const size_t count = std::min(bytes.size() - start, 1 + below(1 + bytes.size() / 4));
      const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(start);
      bytes.erase(from, from + static_cast<std::ptrdiff_t>(count));
      return;
    }
    case 4: {  // a piece twice
      const size_t start = at();
      const size_t count = std::min(bytes.size() - start, 1 + below(64));
      const Bytes piece(bytes.begin() + static_cast<std::ptrdiff_t>(start),
                        bytes.begin() + static_cast<std::ptrdiff_t>(start + count));
      insert(bytes, piece);
      return;
    }
    case 5:  // cut off
      bytes.resize(at());
      return;
    case 6: {  // a piece of another input
      if (other.empty()) return;
      const size_t start = below(other.size());
      insert(bytes, other.subspan(start, std::min(other.size() - start, 1 + below(128))));
      return;
    }
    case 7:
    case 8:  // a word that the parser knows
      if (!words_.empty()) insert(bytes, words_[below(words_.size())]);
      return;
    case 9:
      insert(bytes, text(kTextNumbers[below(std::size(kTextNumbers))]));
      return;
    default: {  // one byte many times: nesting, long names
      const Bytes run(1 + below(200), bytes[at()]);
      insert(bytes, run);
    }
  }
}

std::vector<Bytes> words_of(std::string_view dictionary) {
  std::vector<Bytes> words;
  while (!dictionary.empty()) {
    const std::string_view line = dictionary.substr(0, dictionary.find('\n'));
    dictionary.remove_prefix(std::min(line.size() + 1, dictionary.size()));
    const size_t first = line.find('"');
    const size_t last = line.rfind('"');
    if (line.starts_with('#') || first == std::string_view::npos || last == first) continue;
    Bytes word;
    for (size_t i = first + 1; i < last; ++i) {
      unsigned value = static_cast<unsigned char>(line[i]);
      if (line[i] == '\\' && i + 3 < last + 1 && line[i + 1] == 'x') {
        std::from_chars(line.data() + i + 2, line.data() + i + 4, value, 16);
        i += 3;
      }
      word.push_back(static_cast<std::byte>(value));
    }
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace cinnabar::fuzz
