// The CLIP byte-pair tokenizer (openai/clip, transformers' CLIPTokenizer with ftfy).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::text {

struct WeightedToken {
  int64_t id = 0;
  double weight = 1.0;
};

// How rows are padded: SD1 and SDXL's first encoder pad with the end token, SD2 with id 0 ("!"). SDXL's second encoder
// is ZeroPlain: id 0 too, but a "!" of the text keeps its own token.
enum class Padding { EndToken, Zero, ZeroPlain };

class ClipTokenizer {
 public:
  // Reads the public merges list (bpe_simple_vocab_16e6.txt.gz). Throws Error{Io} or Error{Format}. Immutable
  // afterwards but for a bounded cache of words behind a lock: one object serves all threads.
  explicit ClipTokenizer(const std::filesystem::path& merges_gz);
  ~ClipTokenizer();

  // The list that set-up installed: CINNABAR_CLIP_BPE, or share/cinnabar beside the program, or .deps/ of a checkout.
  static const ClipTokenizer& shared();

  static constexpr int64_t kBegin = 49406;
  static constexpr int64_t kEnd = 49407;

  // Without begin and end tokens, not cut. With Padding::Zero every "!" of the text becomes id 0 first (a quirk of the
  // published SD2 tokenizer, whose padding token is "!"). Invalid UTF-8 counts as U+FFFD.
  std::vector<int64_t> encode(std::string_view text, Padding padding = Padding::EndToken) const;

  // Rows of 77 ids: begin, 75 ids, end or padding; max_token_length 75, 150 or 225 gives 1, 2 or 3 rows, 0 (unset) one;
  // other multiples of 75 go on like that. Throws Error{Config} for any other length. Source: sd-scripts
  // strategy_base.py.
  std::vector<std::vector<int64_t>> encode_chunks(std::string_view text, int64_t max_token_length,
                                                  Padding padding) const;

  static constexpr int64_t kChunk = 75;      // ids of text in a row
  static constexpr int64_t kRowLength = 77;  // with begin and end
  static int64_t padding_id(Padding padding) { return padding == Padding::EndToken ? kEnd : 0; }

 private:
  void encode_part(std::string_view text, std::vector<int64_t>& ids) const;

  struct Tables;
  std::unique_ptr<Tables> tables_;
};

// Cuts a row of begin, text, end and padding (2 + a multiple of 75 ids) into rows of 77 the way sd-scripts does.
std::vector<std::vector<int64_t>> cut_into_rows(const std::vector<int64_t>& row, Padding padding);
// `max_token_length` as ids of text: 0 (unset) is 75. Throws Error{Config} unless it is a multiple of 75.
int64_t text_length(int64_t max_token_length);

}  // namespace cinnabar::text
