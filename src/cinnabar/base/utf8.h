// UTF-8 in texts from files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cinnabar::base {

// Offset of the first byte that is not part of valid UTF-8 (surrogates and overlong forms are invalid), or nothing.
std::optional<size_t> find_invalid_utf8(std::string_view bytes);

// At most `most_bytes` of a text from a file, for a message: cut between characters with "..." behind, control
// characters and invalid bytes replaced by "?".
std::string shown_text(std::string_view text, size_t most_bytes);
// The whole text for a terminal: all but line breaks as above. For everything that may hold names or texts of others.
std::string printable_text(std::string_view text);

}  // namespace cinnabar::base
