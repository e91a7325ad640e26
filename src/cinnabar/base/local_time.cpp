#include "cinnabar/base/local_time.h"

#include <array>

namespace cinnabar::base {

std::string local_time(const char* format, std::time_t time) {
  std::tm local{};
  ::localtime_r(&time, &local);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &local)};
}

}  // namespace cinnabar::base
