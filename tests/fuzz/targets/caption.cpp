#include <cmath>

#include "cinnabar/base/utf8.h"
#include "cinnabar/data/caption.h"
#include "cinnabar/data/caption_file.h"
#include "cinnabar/text/weighted_prompt.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/memory_file.h"

using namespace cinnabar;

namespace {

data::CaptionOptions options_of(unsigned first, unsigned second) {
  const auto has = [](unsigned bits, unsigned bit) { return (bits >> bit & 1U) != 0; };
  data::CaptionOptions options;
  options.enable_wildcard = has(first, 0);
  options.shuffle_caption = has(first, 1);
  options.keep_tokens = first >> 2 & 3U;
  options.caption_lines = static_cast<data::CaptionLines>(first >> 4 & 3U);
  if (has(first, 6)) options.keep_tokens_separator = "|||";
  if (has(first, 7)) options.secondary_separator = ";;;";
  if (has(second, 0)) options.caption_tag_dropout_rate = 0.3;
  if (has(second, 1)) options.token_warmup_step = 0.5;
  if (has(second, 2)) options.caption_prefix = "photo of {a|b}";
  if (has(second, 3)) options.caption_suffix = "(x:1.1)";
  if (has(second, 4)) options.caption_dropout_rate = 0.2;
  if (has(second, 5)) options.caption_separator = ".";
  return options;
}

}  // namespace

// Two bytes of options, then the caption file.
CINNABAR_FUZZ_TARGET(caption, 4096) {
  if (input.size() < 2) return;
  const data::CaptionOptions options =
      options_of(std::to_integer<unsigned>(input[0]), std::to_integer<unsigned>(input[1]));
  const auto caption = data::read_caption_file(fuzz::memory_file(input.subspan(2)), data::uses_all_lines(options));
  data::StreamCaptionRandom random(1, 1, 1);
  const std::string text =
      data::process_caption(caption.value().text, options, {.epoch = 2, .step = 3, .max_train_steps = 20}, {}, random);
  fuzz::require(!base::find_invalid_utf8(text), "captions stay UTF-8");
  for (const text::WeightedPiece& piece : text::parse_weighted_prompt(text)) {
    fuzz::require(std::isfinite(piece.weight), "weights are numbers");
  }
}
