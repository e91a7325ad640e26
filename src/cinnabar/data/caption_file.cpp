#include "cinnabar/data/caption_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <system_error>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/text/unicode.h"

namespace cinnabar::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxCaptionLines = 100'000;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Ends of lines as Python's text mode sees them: "\n", "\r\n", "\r".
std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    const size_t break_length = text.substr(end).starts_with("\r\n") ? 2 : 1;
    text.remove_prefix(std::min(end + break_length, text.size()));
  }
  return lines;
}

std::string hex(uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'0', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
}

base::Error not_utf8(const std::string& file, std::string_view bytes, size_t at) {
  const bool is_utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
  return {base::ErrorCode::Data, file + ": byte " + std::to_string(at) + " is " + hex(static_cast<uint8_t>(bytes[at])) +
                                     ", which is not valid UTF-8; expected a UTF-8 text. Save the caption as UTF-8" +
                                     (is_utf16 ? " (this file looks like UTF-16)" : "")};
}

}  // namespace

base::Result<Caption> read_caption_file(const fs::path& file, bool keeps_lines) {
  std::string content;
  try {
    content = base::read_file(file, kMaxCaptionBytes);
  } catch (const base::Error& error) {
    return error;
  }
  return parse_caption_file(content, file.string(), keeps_lines);
}

base::Result<Caption> parse_caption_file(std::string_view content, const std::string& file, bool keeps_lines) {
  if (content.empty())
    return base::Error(base::ErrorCode::Data,
                       file +
                           ": the caption file is empty; write a caption, or remove the file so that "
                           "the class tokens of the folder are used");
  if (const std::optional<size_t> at = text::find_invalid_utf8(content)) return not_utf8(file, content, *at);

  Caption caption{.text = {},
                  .origin = CaptionOrigin::File,
                  .file = file,
                  .had_byte_order_mark = content.starts_with(kByteOrderMark)};
  const auto line_count = static_cast<size_t>(std::ranges::count(content, '\n'));
  if (line_count > kMaxCaptionLines)
    return base::Error(base::ErrorCode::Data, file + ": the caption file has " + std::to_string(line_count) +
                                                  " lines, at most " + std::to_string(kMaxCaptionLines) +
                                                  " are read; is it a caption?");
  const std::string_view body = content.substr(caption.had_byte_order_mark ? kByteOrderMark.size() : 0);
  for (const std::string_view line : split_lines(body)) {
    const std::string_view stripped = text::strip(line);
    if (!keeps_lines) {
      caption.text = stripped;
      break;
    }
    if (stripped.empty()) continue;
    if (!caption.text.empty()) caption.text += '\n';
    caption.text += stripped;
  }
  return caption;
}

std::vector<std::string> caption_candidates(const fs::path& picture, std::string_view extension, bool has_face_names) {
  const std::string suffix = (extension.starts_with('.') ? "" : ".") + std::string(extension);
  // Of the text: taking paths apart costs as much as opening the file.
  const std::string& whole = picture.native();
  const size_t name = whole.rfind('/') + 1;  // 0 without a folder
  const size_t dot = whole.rfind('.');
  const std::string base = dot == std::string::npos || dot <= name ? whole : whole.substr(0, dot);
  std::vector<std::string> candidates = {base + suffix};
  if (!has_face_names || std::ranges::count(base, '_') < 4) return candidates;
  size_t end = base.size();
  for (int part = 0; part < 4; ++part) end = base.rfind('_', end - 1);
  if (end >= name) candidates.push_back(base.substr(0, end) + suffix);
  return candidates;
}

base::Result<Caption> read_caption(const fs::path& picture, const CaptionFileOptions& options) {
  for (const std::string& file : caption_candidates(picture, options.extension, options.has_face_names)) {
    std::error_code ignored;  // a place that cannot be looked at holds no caption
    if (fs::is_regular_file(file, ignored)) return read_caption_file(file, options.keeps_lines);
  }
  if (!options.class_tokens.empty()) return Caption{.text = options.class_tokens, .origin = CaptionOrigin::ClassTokens};
  return Caption{};
}

}  // namespace cinnabar::data
