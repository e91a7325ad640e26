// UTF-8 text that was read as Latin-1 or Windows-1252 ("donâ€™t", "cafÃ©"), and its repair.
#pragma once

#include <string>
#include <string_view>

namespace cinnabar::text {

// True when neighbouring characters hardly ever stand together but in wrongly decoded text.
bool looks_wrongly_decoded(std::u32string_view text);
// Decodes the whole text, or else the parts that look wrong, as UTF-8; repeated until nothing changes. Text that does
// not look wrong is returned as it is.
std::u32string repair_decoding(std::u32string_view text);
// C1 controls (U+0080 to U+009F) as the Windows-1252 characters of the same bytes; the five unassigned bytes stay.
char32_t windows_1252_of_c1(char32_t c);

}  // namespace cinnabar::text
