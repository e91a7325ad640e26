// How CLIP's tokenizer cuts a text into words before byte-pair encoding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::text {

// Repaired (text_repair.h), white space squeezed, lower-case.
std::u32string clean_for_clip(std::u32string_view text);
// Words of `clean` in order, as UTF-8: the two special tokens, English contractions, runs of letters, single numbers,
// runs of other characters; white space is dropped. Source: the pattern of openai/CLIP simple_tokenizer.py.
std::vector<std::string> split_words(std::u32string_view clean);

}  // namespace cinnabar::text
