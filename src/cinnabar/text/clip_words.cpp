#include "cinnabar/text/clip_words.h"

#include <array>

#include "cinnabar/text/text_repair.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::text {
namespace {

enum class Kind { Space, Letter, Number, Other, Nothing };

Kind kind_of(char32_t c) {
  if (c < 0x80) {
    if (c >= U'a' && c <= U'z') return Kind::Letter;
    if (c >= U'0' && c <= U'9') return Kind::Number;
  }
  if (is_space(c)) return Kind::Space;
  if (is_letter(c)) return Kind::Letter;
  if (is_number(c)) return Kind::Number;
  // The pattern ignores case, and the case-folded form of this combining mark is a letter: neither class matches it.
  return c == 0x345 ? Kind::Nothing : Kind::Other;
}

// Without regard to case; the text is lower-case already, but the long s folds to s.
bool matches_at(std::u32string_view text, size_t at, std::u32string_view word) {
  if (word.size() > text.size() - at) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    const char32_t c = text[at + i];
    if (c != word[i] && !(word[i] == U's' && c == 0x17F)) return false;
  }
  return true;
}

// In the order of the pattern's alternatives.
constexpr std::array<std::u32string_view, 9> kFixedWords = {
    U"<|startoftext|>", U"<|endoftext|>", U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"};

size_t fixed_word_length(std::u32string_view text, size_t at) {
  if (text[at] != U'<' && text[at] != U'\'') return 0;
  for (const std::u32string_view word : kFixedWords)
    if (matches_at(text, at, word)) return word.size();
  return 0;
}

}  // namespace

std::u32string clean_for_clip(std::u32string_view text) {
  std::u32string squeezed;
  bool has_gap = false;
  for (const char32_t c : repair_text(text)) {
    if (is_python_space(c)) {
      has_gap = true;
      continue;
    }
    if (has_gap && !squeezed.empty()) squeezed += U' ';
    has_gap = false;
    squeezed += c;
  }
  return to_lower(squeezed);
}

std::vector<std::string> split_words(std::u32string_view clean) {
  std::vector<std::string> words;
  for (size_t at = 0; at < clean.size();) {
    size_t length = fixed_word_length(clean, at);
    const Kind kind = kind_of(clean[at]);
    if (length == 0) {
      length = 1;
      if (kind == Kind::Letter || kind == Kind::Other)
        while (at + length < clean.size() && kind_of(clean[at + length]) == kind) ++length;
      if (kind == Kind::Space || kind == Kind::Nothing) {
        at += length;
        continue;
      }
    }
    words.push_back(encode_utf8(clean.substr(at, length)));
    at += length;
  }
  return words;
}

}  // namespace cinnabar::text
