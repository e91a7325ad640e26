// Prompts with weights: "(word)" 1.1 times, "[word]" 1/1.1 times, "(word:1.3)" 1.3 times, nested; "\(" is a bracket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/text/clip_tokenizer.h"

namespace cinnabar::text {

struct WeightedPiece {
  std::string text;
  double weight = 1.0;
};

// One piece at least (an empty one for an empty prompt); neighbours of equal weight are one piece. An open bracket
// without its partner counts as closed at the end. Throws Error{Data} for a weight that is no number ("(word:1.2.3)")
// and for more than 16 brackets that are open at once; the message shows the beginning of the prompt. Source: the
// grammar of AUTOMATIC1111's web UI.
std::vector<WeightedPiece> parse_weighted_prompt(std::string_view prompt);
// Why parse_weighted_prompt would throw, without the prompt; "" when it would not.
std::string weight_problem(std::string_view prompt);

// Every piece tokenized on its own, joined; without begin and end, not cut.
std::vector<WeightedToken> encode_weighted(const ClipTokenizer& tokenizer, std::string_view prompt, Padding padding);

// Rows as encode_chunks gives them, with a weight for each id; 1 for begin, end and padding. Tokens beyond
// max_token_length (0, 75, 150, ...) are dropped.
struct WeightedRows {
  std::vector<std::vector<int64_t>> ids;     // [rows][77]
  std::vector<std::vector<double>> weights;  // [rows][77]
};
WeightedRows encode_weighted_chunks(const ClipTokenizer& tokenizer, std::string_view prompt, int64_t max_token_length,
                                    Padding padding);

// The smallest max_token_length that holds `tokens` tokens, at most `limit` rows: for prompts of any length.
int64_t max_token_length_for(size_t tokens, int64_t limit);

}  // namespace cinnabar::text
