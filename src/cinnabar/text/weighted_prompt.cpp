#include "cinnabar/text/weighted_prompt.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "cinnabar/base/error.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::text {
namespace {

constexpr double kRound = 1.1;
constexpr double kSquare = 1 / 1.1;
constexpr size_t kMostOpen = 16;
constexpr double kLargestWeight = 1e30;  // the model computes with single precision
constexpr size_t kShownBytes = 80;

// The text between ":" and ")" at `at` (which is the colon), if it is made of digits and dots after an optional sign.
std::optional<std::u32string_view> weight_at(std::u32string_view prompt, size_t at) {
  size_t end = at + 1;
  if (end < prompt.size() && (prompt[end] == U'+' || prompt[end] == U'-')) ++end;
  const size_t digits = end;
  while (end < prompt.size() && (prompt[end] == U'.' || digit_value(prompt[end]))) ++end;
  if (end == digits || end >= prompt.size() || prompt[end] != U')') return std::nullopt;
  return prompt.substr(at + 1, end - at - 1);
}

double number_of(std::u32string_view text) {
  std::string digits;
  for (const char32_t c : text) {
    const std::optional<int> digit = digit_value(c);
    if (digit) {
      digits += static_cast<char>('0' + *digit);
    } else if (c != U'+') {
      digits += static_cast<char>(c);
    }
  }
  double value = 0.0;
  const char* end = digits.data() + digits.size();
  const auto [read, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || read != end)
    throw base::Error(base::ErrorCode::Data,
                      "\"(...:" + base::shown_text(encode_utf8(text), kShownBytes) +
                          ")\" has a weight that is no number; expected for example \"(word:1.3)\", or \"\\(\" for a "
                          "bracket that is meant as text");
  return value;
}

class Parser {
 public:
  explicit Parser(std::u32string_view prompt) : prompt_(prompt) {}

  std::vector<WeightedPiece> run() {
    while (at_ < prompt_.size()) step();
    for (const size_t from : round_) multiply(from, kRound);
    for (const size_t from : square_) multiply(from, kSquare);
    for (const WeightedPiece& piece : pieces_) {
      if (!(std::abs(piece.weight) <= kLargestWeight))
        throw base::Error(base::ErrorCode::Data, "the weights of nested brackets multiply to more than a number holds");
    }
    return merged();
  }

 private:
  void step() {
    const char32_t c = prompt_[at_];
    if (c == U'\\') {
      const bool is_escape = at_ + 1 < prompt_.size() &&
                             std::u32string_view(U"()[]\\").find(prompt_[at_ + 1]) != std::u32string_view::npos;
      add(is_escape ? prompt_.substr(at_ + 1, 1) : std::u32string_view{}, is_escape ? 2 : 1);
    } else if (c == U'(' || c == U'[') {
      if (round_.size() + square_.size() >= kMostOpen)
        throw base::Error(base::ErrorCode::Data,
                          "more than 16 brackets are open at once, whose weights multiply; write the weight as a "
                          "number, \"(word:1.3)\", or \"\\(\" for a bracket that is meant as text");
      (c == U'(' ? round_ : square_).push_back(pieces_.size());
      ++at_;
    } else if (c == U':') {
      colon();
    } else if (c == U')' || c == U']') {
      std::vector<size_t>& open = c == U')' ? round_ : square_;
      if (open.empty()) return add(prompt_.substr(at_, 1), 1);
      close(open, c == U')' ? kRound : kSquare, 1);
    } else {
      const size_t end = std::min(prompt_.find_first_of(U"\\()[]:", at_), prompt_.size());
      add(prompt_.substr(at_, end - at_), end - at_);
    }
  }

  void colon() {
    const std::optional<std::u32string_view> weight = weight_at(prompt_, at_);
    if (!weight) return add(prompt_.substr(at_, 1), 1);
    const size_t length = weight->size() + 2;
    if (round_.empty()) return add(prompt_.substr(at_, length), length);
    close(round_, number_of(*weight), length);
  }

  void add(std::u32string_view text, size_t consumed) {
    pieces_.push_back({encode_utf8(text), 1.0});
    at_ += consumed;
  }

  void close(std::vector<size_t>& open, double factor, size_t consumed) {
    multiply(open.back(), factor);
    open.pop_back();
    at_ += consumed;
  }

  void multiply(size_t from, double factor) {
    for (size_t i = from; i < pieces_.size(); ++i) pieces_[i].weight *= factor;
  }

  std::vector<WeightedPiece> merged() const {
    std::vector<WeightedPiece> result;
    for (const WeightedPiece& piece : pieces_) {
      if (!result.empty() && result.back().weight == piece.weight) {
        result.back().text += piece.text;
      } else {
        result.push_back(piece);
      }
    }
    if (result.empty()) result.emplace_back();
    return result;
  }

  std::u32string_view prompt_;
  size_t at_ = 0;
  std::vector<WeightedPiece> pieces_;
  std::vector<size_t> round_;  // numbers of the pieces that follow the open brackets
  std::vector<size_t> square_;
};

}  // namespace

std::vector<WeightedPiece> parse_weighted_prompt(std::string_view prompt) {
  const std::u32string text = decode_utf8(prompt);
  try {
    return Parser(text).run();
  } catch (const base::Error& error) {
    throw base::Error(error.code(), "the prompt \"" + base::shown_text(prompt, kShownBytes) + "\": " + error.message());
  }
}

std::string weight_problem(std::string_view prompt) {
  if (prompt.find_first_of("()[]") == std::string_view::npos) return {};
  const std::u32string text = decode_utf8(prompt);
  try {
    (void)Parser(text).run();
    return {};
  } catch (const base::Error& error) {
    return error.message();
  }
}

std::vector<WeightedToken> encode_weighted(const ClipTokenizer& tokenizer, std::string_view prompt, Padding padding) {
  std::vector<WeightedToken> tokens;
  for (const WeightedPiece& piece : parse_weighted_prompt(prompt))
    for (const int64_t id : tokenizer.encode(piece.text, padding)) tokens.push_back({id, piece.weight});
  return tokens;
}

WeightedRows encode_weighted_chunks(const ClipTokenizer& tokenizer, std::string_view prompt, int64_t max_token_length,
                                    Padding padding) {
  const auto length = static_cast<size_t>(text_length(max_token_length));
  std::vector<WeightedToken> tokens = encode_weighted(tokenizer, prompt, padding);
  if (tokens.size() > length) tokens.resize(length);
  std::vector<int64_t> row = {ClipTokenizer::kBegin};
  for (const WeightedToken& token : tokens) row.push_back(token.id);
  row.push_back(ClipTokenizer::kEnd);
  row.resize(length + 2, ClipTokenizer::padding_id(padding));

  WeightedRows rows{.ids = cut_into_rows(row, padding), .weights = {}};
  constexpr auto kChunk = static_cast<size_t>(ClipTokenizer::kChunk);
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    std::vector<double>& weights = rows.weights.emplace_back(static_cast<size_t>(ClipTokenizer::kRowLength), 1.0);
    for (size_t k = 0; k < kChunk && i * kChunk + k < tokens.size(); ++k)
      weights[k + 1] = tokens[i * kChunk + k].weight;
  }
  return rows;
}

int64_t max_token_length_for(size_t tokens, int64_t limit) {
  const int64_t rows = (static_cast<int64_t>(tokens) + ClipTokenizer::kChunk - 1) / ClipTokenizer::kChunk;
  return ClipTokenizer::kChunk * std::clamp<int64_t>(rows, 1, std::max<int64_t>(limit, 1));
}

}  // namespace cinnabar::text
