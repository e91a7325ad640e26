#include "cinnabar/adapters/thumbnail.h"

#include <cstdint>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"

namespace cinnabar::adapters {

namespace {

constexpr size_t kMostBytes = size_t{2} << 20;

std::string media_type(const std::string& bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return "image/png";
  if (bytes.starts_with("\xFF\xD8\xFF")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.starts_with("RIFF") && bytes.size() > 12 && bytes.compare(8, 4, "WEBP") == 0) return "image/webp";
  return {};
}

// RFC 4648, section 4.
std::string base64(const std::string& bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += j <= bytes.size() - i ? kLetters[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

std::string thumbnail_url(const std::string& given) {
  if (given.starts_with("data:")) return given;
  const std::string bytes = base::read_file(given);
  const std::string type = media_type(bytes);
  if (type.empty()) {
    throw base::Error(base::ErrorCode::Config,
                      "metadata_thumbnail = " + given + ": expected a PNG, JPEG, WebP or GIF file, or a data URL");
  }
  if (bytes.size() > kMostBytes) {
    throw base::Error(base::ErrorCode::Config, "metadata_thumbnail = " + given + ": has " +
                                                   std::to_string(bytes.size()) + " bytes, expected at most " +
                                                   std::to_string(kMostBytes) + ": make the picture smaller");
  }
  return "data:" + type + ";base64," + base64(bytes);
}

}  // namespace cinnabar::adapters
