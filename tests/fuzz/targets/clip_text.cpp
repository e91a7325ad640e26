#include "cinnabar/base/utf8.h"
#include "cinnabar/text/clip_words.h"
#include "cinnabar/text/unicode.h"
#include "fuzz/fuzz_target.h"

using namespace cinnabar;

CINNABAR_FUZZ_TARGET(clip_text, 2048) {
  const std::u32string clean = text::clean_for_clip(text::decode_utf8(fuzz::text_of(input)));
  for (const std::string& word : text::split_words(clean)) {
    fuzz::require(!word.empty(), "words are not empty");
    fuzz::require(!base::find_invalid_utf8(word), "words are UTF-8");
    fuzz::require(word.find(' ') == std::string::npos, "words hold no blanks");
  }
}
