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

// How rows are padded: SD1 pads with the end token, SD2 and SDXL's second encoder with id 0 ("!").
enum class Padding { EndToken, Zero };

class ClipTokenizer {
 public:
  // Reads the public merges list (bpe_simple_vocab_16e6.txt.gz). Throws Error{Io} or Error{Format}.
  explicit ClipTokenizer(const std::filesystem::path& merges_gz);
  ~ClipTokenizer();

  // The list that set-up installed: CINNABAR_CLIP_BPE, or share/cinnabar beside the program, or .deps/ of a checkout.
  static const ClipTokenizer& shared();

  static constexpr int64_t kBegin = 49406;
  static constexpr int64_t kEnd = 49407;

  // Without begin and end tokens, not cut. With Padding::Zero every "!" of the text becomes id 0 first (a quirk of the
  // published SD2 tokenizer, whose padding token is "!").
  std::vector<int64_t> encode(std::string_view text, Padding padding = Padding::EndToken) const;

  // Rows of 77 ids: begin, 75 ids, end or padding; max_token_length 75, 150 or 225 gives 1, 2 or 3 rows
  // (training-math.md section 5).
  std::vector<std::vector<int64_t>> encode_chunks(std::string_view text, int64_t max_token_length, Padding padding) const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace cinnabar::text
