// The logger: one short sentence, then key=value. Messages go to stderr; progress goes to events, not here.
#pragma once

#include <string_view>

namespace cinnabar::base {

void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_debug(std::string_view message);

}  // namespace cinnabar::base
