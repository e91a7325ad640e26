// Repairs of damaged text as ftfy 6.3 makes them with its default settings: what a caption looks like to CLIP.
#pragma once

#include <string>
#include <string_view>

namespace cinnabar::text {

// HTML entities (unless the text holds "<" up to that line), wrong decodings (mojibake.h), C1 controls, Latin
// ligatures, full- and half-width forms, curly quotes, line breaks, terminal escapes, control characters, NFC; repeated
// line by line until nothing changes. docs/compatibility.md, section "Tokenizer", lists what ftfy does beyond this.
std::u32string repair_text(std::u32string_view text);

// The steps that the tests look at alone.
std::u32string unescape_html(std::u32string_view text);

}  // namespace cinnabar::text
