// The nearest known name to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cinnabar::base {

// Restricted Damerau-Levenshtein distance (insert, delete, replace, swap neighbours), byte-wise.
size_t edit_distance(std::string_view a, std::string_view b);
// The candidate with the smallest distance, if that is at most a third of the longer name (at least 2); else "". Names
// of more than 100 bytes have none.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace cinnabar::base
