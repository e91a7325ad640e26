#include "cinnabar/base/error.h"

#include <array>
#include <filesystem>

namespace cinnabar::base {

namespace {
constexpr std::array<std::string_view, 11> kNames = {"Usage",     "Config",     "Data",        "Format",
                                                     "Io",        "OutOfSpace", "OutOfMemory", "Device",
                                                     "Cancelled", "Denied",     "Internal"};
}

std::string_view to_string(ErrorCode code) { return kNames.at(static_cast<size_t>(code)); }

ErrorCode error_code_from(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ErrorCode>(i);
  }
  return ErrorCode::Internal;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage:
    case ErrorCode::Config:
      return 2;
    case ErrorCode::Device:
      return 70;
    case ErrorCode::Cancelled:
      return 130;
    default:
      return 1;
  }
}

void assertion_failed(const char* expression, const char* file, int line) {
  throw Error(
      ErrorCode::Internal,
      "internal error: " + std::string(expression) + " does not hold; this is a bug in Cinnabar, please report it",
      std::filesystem::path(file).filename().string() + ":" + std::to_string(line));
}

}  // namespace cinnabar::base
