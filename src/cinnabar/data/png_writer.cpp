#include "cinnabar/data/png_writer.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"

namespace cinnabar::data {

namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1A\n", 8);

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 0xFF));
  return bytes;
}

void append_chunk(std::string& out, const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong checksum = crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
  out += big_endian(static_cast<uint32_t>(data.size())) + body + big_endian(static_cast<uint32_t>(checksum));
}

// UTF-8 to Latin-1; nothing when a character does not fit or the text is not UTF-8.
std::optional<std::string> latin1(const std::string& utf8) {
  std::string result;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x80) {
      if (byte == 0) return std::nullopt;
      result.push_back(utf8[i]);
    } else if ((byte == 0xC2 || byte == 0xC3) && i + 1 < utf8.size()) {
      const auto next = static_cast<unsigned char>(utf8[++i]);
      result.push_back(static_cast<char>((byte & 3) << 6 | (next & 0x3F)));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

std::string utf8_of_latin1(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) result.push_back(static_cast<char>(0xC0 | byte >> 6));
    result.push_back(static_cast<char>(byte >= 0x80 ? (0x80 | (byte & 0x3F)) : byte));
  }
  return result;
}

void append_text(std::string& out, const std::string& keyword, const std::string& text) {
  const bool is_printable = std::ranges::all_of(keyword, [](char c) { return c >= 0x20 && c < 0x7F; });
  if (keyword.empty() || keyword.size() > 79 || !is_printable) {
    throw base::Error(base::ErrorCode::Internal, "a PNG text needs a keyword of 1 to 79 printable characters");
  }
  if (const auto narrow = latin1(text)) {
    append_chunk(out, "tEXt", keyword + '\0' + *narrow);
  } else {
    // Not compressed, no language, no translated keyword.
    append_chunk(out, "iTXt", keyword + std::string(5, '\0') + text);
  }
}

uint8_t paeth(int left, int up, int corner) {
  const int guess = left + up - corner;
  const int to_left = std::abs(guess - left);
  const int to_up = std::abs(guess - up);
  const int to_corner = std::abs(guess - corner);
  if (to_left <= to_up && to_left <= to_corner) return static_cast<uint8_t>(left);
  return static_cast<uint8_t>(to_up <= to_corner ? up : corner);
}

// The filter whose differences are smallest in sum, the rule that the PNG specification proposes.
std::string filtered(const Picture& picture) {
  const auto bytes_per_pixel = static_cast<size_t>(picture.channels);
  const size_t row_size = static_cast<size_t>(picture.width) * bytes_per_pixel;
  const std::vector<uint8_t> zeros(row_size);
  std::string out;
  out.reserve((row_size + 1) * static_cast<size_t>(picture.height));
  std::array<std::string, 5> tries;  // none, sub, up, average, Paeth
  for (size_t y = 0; y < static_cast<size_t>(picture.height); ++y) {
    const uint8_t* row = picture.pixels.data() + y * row_size;
    const uint8_t* above = y == 0 ? zeros.data() : row - row_size;
    std::array<uint64_t, 5> sums{};
    for (auto& one : tries) one.resize(row_size);
    for (size_t i = 0; i < row_size; ++i) {
      const int left = i >= bytes_per_pixel ? row[i - bytes_per_pixel] : 0;
      const int corner = i >= bytes_per_pixel ? above[i - bytes_per_pixel] : 0;
      const std::array<int, 5> guesses = {0, left, above[i], (left + above[i]) / 2, paeth(left, above[i], corner)};
      for (size_t f = 0; f < 5; ++f) {
        const auto difference = static_cast<int8_t>(row[i] - guesses[f]);
        tries[f][i] = static_cast<char>(difference);
        sums[f] += static_cast<uint64_t>(std::abs(int{difference}));
      }
    }
    const auto best = static_cast<size_t>(std::ranges::min_element(sums) - sums.begin());
    out.push_back(static_cast<char>(best));
    out += tries[best];
  }
  return out;
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_DEFAULT_COMPRESSION);
  if (status != Z_OK) throw base::Error(base::ErrorCode::OutOfMemory, "not enough memory to compress a PNG picture");
  out.resize(size);
  return out;
}

}  // namespace

std::string encode_png(const Picture& picture, const std::map<std::string, std::string>& texts) {
  CINNABAR_ASSERT(picture.channels == 3 || picture.channels == 4);
  CINNABAR_ASSERT(picture.width > 0 && picture.height > 0);
  std::string out(kSignature);
  // 8 bits a sample; colour type 2 is RGB, 6 is RGBA; deflate, adaptive filters, not interlaced.
  const char colour_type = picture.channels == 3 ? 2 : 6;
  append_chunk(out, "IHDR",
               big_endian(static_cast<uint32_t>(picture.width)) + big_endian(static_cast<uint32_t>(picture.height)) +
                   std::string{8, colour_type, 0, 0, 0});
  for (const auto& [keyword, text] : texts) append_text(out, keyword, text);
  const std::string data = deflated(filtered(picture));
  constexpr size_t kPart = size_t{1} << 20;
  for (size_t start = 0; start < data.size(); start += kPart) append_chunk(out, "IDAT", data.substr(start, kPart));
  append_chunk(out, "IEND", "");
  return out;
}

void save_png(const std::filesystem::path& path, const Picture& picture,
              const std::map<std::string, std::string>& texts) {
  base::write_file(path, encode_png(picture, texts));
}

std::map<std::string, std::string> read_png_texts(const std::filesystem::path& path) {
  const std::string file = base::read_file(path);
  if (!file.starts_with(kSignature)) {
    throw base::Error(base::ErrorCode::Data, path.string() + ": not a PNG picture; its texts cannot be read");
  }
  std::map<std::string, std::string> texts;
  size_t offset = kSignature.size();
  while (file.size() - offset >= 12) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(file[offset + i]);
    const std::string type = file.substr(offset + 4, 4);
    if (length > file.size() - offset - 12) break;
    const std::string data = file.substr(offset + 8, length);
    const size_t end = data.find('\0');
    if (type == "tEXt" && end != std::string::npos) texts[data.substr(0, end)] = utf8_of_latin1(data.substr(end + 1));
    if (type == "iTXt" && end != std::string::npos && data.size() > end + 3 && data[end + 1] == 0) {
      const size_t language_end = data.find('\0', end + 3);
      const size_t translated_end =
          language_end == std::string::npos ? language_end : data.find('\0', language_end + 1);
      if (translated_end != std::string::npos) texts[data.substr(0, end)] = data.substr(translated_end + 1);
    }
    offset += 12 + length;
  }
  return texts;
}

}  // namespace cinnabar::data
