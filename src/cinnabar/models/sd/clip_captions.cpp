#include "cinnabar/models/sd/clip_captions.h"

#include <algorithm>

#include <ATen/ops/empty.h>

#include "cinnabar/base/error.h"
#include "cinnabar/text/weighted_prompt.h"

namespace cinnabar::models::sd {

namespace {

constexpr int64_t kMostPromptChunks = 3;  // as the reference's pictures

// What weights nothing.
text::WeightedRows plain_rows(const std::string& caption, int64_t length, text::Padding padding) {
  text::WeightedRows rows{.ids = text::ClipTokenizer::shared().encode_chunks(caption, length, padding), .weights = {}};
  for (const auto& row : rows.ids) rows.weights.emplace_back(row.size(), 1.0);
  return rows;
}

// Captions with weights that cannot be read count without them, which the scan of the data told; they must not end a
// run at the step that draws them. Prompts fail.
text::WeightedRows rows_of(const std::string& words, int64_t length, text::Padding padding, bool is_caption) {
  if (is_caption && !text::weight_problem(words).empty()) return plain_rows(words, length, padding);
  return text::encode_weighted_chunks(text::ClipTokenizer::shared(), words, length, padding);
}

ClipRows weighted_rows(const std::vector<std::string>& texts, int64_t length, text::Padding padding, bool is_caption) {
  const auto rows = static_cast<int64_t>(texts.size());
  const std::vector<int64_t> shape{rows, length / text::ClipTokenizer::kChunk, text::ClipTokenizer::kRowLength};
  ClipRows result{.ids = at::empty(shape, at::TensorOptions().dtype(at::kLong)),
                  .weights = at::empty(shape, at::TensorOptions().dtype(at::kFloat))};
  int64_t* id = result.ids.mutable_data_ptr<int64_t>();
  float* weight = result.weights.mutable_data_ptr<float>();
  bool is_plain = true;
  for (const std::string& words : texts) {
    const auto encoded = rows_of(words, length, padding, is_caption);
    for (const auto& row : encoded.ids) id = std::copy(row.begin(), row.end(), id);
    for (const auto& row : encoded.weights) {
      for (const double value : row) {
        *weight++ = static_cast<float>(value);
        is_plain = is_plain && value == 1.0;
      }
    }
  }
  if (is_plain) result.weights.reset();
  return result;
}

}  // namespace

ClipRows caption_rows(const std::vector<std::string>& captions, const TextOptions& options, text::Padding padding) {
  if (options.is_weighted) return weighted_rows(captions, text::text_length(options.max_token_length), padding, true);
  const auto& tokenizer = text::ClipTokenizer::shared();
  std::vector<int64_t> ids;
  int64_t length = 0;
  for (const std::string& caption : captions) {
    for (const auto& chunk : tokenizer.encode_chunks(caption, options.max_token_length, padding)) {
      length = static_cast<int64_t>(chunk.size());
      ids.insert(ids.end(), chunk.begin(), chunk.end());
    }
  }
  const auto rows = static_cast<int64_t>(captions.size());
  at::Tensor tensor = at::empty({static_cast<int64_t>(ids.size())}, at::TensorOptions().dtype(at::kLong));
  std::copy(ids.begin(), ids.end(), tensor.mutable_data_ptr<int64_t>());
  return {.ids = rows == 0 ? tensor.view({0, 0, 0}) : tensor.view({rows, -1, length}), .weights = {}};
}

ClipRows prompt_rows(const std::vector<std::string>& prompts, const TextOptions& options, text::Padding padding) {
  int64_t length = text::text_length(options.max_token_length);
  for (const std::string& prompt : prompts) {
    const size_t tokens = text::encode_weighted(text::ClipTokenizer::shared(), prompt, padding).size();
    length = std::max(length, text::max_token_length_for(tokens, kMostPromptChunks));
  }
  return weighted_rows(prompts, length, padding, false);
}

void require_clip_vocabulary(int64_t vocabulary) {
  if (vocabulary > text::ClipTokenizer::kEnd) return;
  throw base::Error(base::ErrorCode::Config, "the text encoder knows " + std::to_string(vocabulary) +
                                                 " tokens, but captions need CLIP's 49408: use another model");
}

}  // namespace cinnabar::models::sd
