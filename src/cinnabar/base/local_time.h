// Times of the clock on the wall, as text.
#pragma once

#include <ctime>
#include <string>

namespace cinnabar::base {

// In the machine's time zone, by a format of strftime(3) that gives at most 63 bytes.
std::string local_time(const char* format, std::time_t time = std::time(nullptr));

}  // namespace cinnabar::base
