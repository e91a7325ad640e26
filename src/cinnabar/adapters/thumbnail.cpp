#include "cinnabar/adapters/thumbnail.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/utf8.h"

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

// Programs that show the file put this text into a page: nothing but a picture may come with it.
std::string checked_url(const std::string& url) {
  const auto fail = [&](const std::string& what) {
    throw base::Error(base::ErrorCode::Config,
                      "metadata_thumbnail = " + base::shown_text(url, 60) + ": " + what +
                          "; give a picture file, or data:image/png;base64,... (png, jpeg or webp)");
  };
  size_t start = 0;
  for (const char* type : {"png", "jpeg", "webp"}) {
    const std::string begin = std::string("data:image/") + type + ";base64,";
    if (url.starts_with(begin)) start = begin.size();
  }
  if (start == 0) fail("this is no data URL of a picture");
  const bool is_base64 = std::all_of(url.begin() + static_cast<std::ptrdiff_t>(start), url.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/' ||
           c == '=';
  });
  if (!is_base64 || start == url.size()) fail("what follows \"base64,\" is not base64");
  if (url.size() - start > kMostBytes / 3 * 4 + 4) fail("has more than " + std::to_string(kMostBytes) + " bytes");
  return url;
}

}  // namespace

std::string thumbnail_url(const std::string& given) {
  if (given.starts_with("data:")) return checked_url(given);
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
