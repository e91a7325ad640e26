// The allow-list of names in pickles.
#pragma once

#include <optional>
#include <string_view>

#include "cinnabar/formats/pickle_value.h"

namespace cinnabar::formats::pickle {

// Empty for every name that a file of weights does not need.
std::optional<Global> allowed_global(std::string_view module, std::string_view name);

}  // namespace cinnabar::formats::pickle
