#include "fuzz/zip_repair.h"

#include <zlib.h>

#include <cstdint>

namespace cinnabar::fuzz {

namespace {

// Offsets within the records: PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.16.
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;

class ZipBytes {
 public:
  explicit ZipBytes(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  bool has(size_t at, size_t count) const { return at <= bytes_.size() && count <= bytes_.size() - at; }
  uint32_t number(size_t at, size_t count) const {
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= std::to_integer<uint32_t>(bytes_[at + i]) << (8 * i);
    return value;
  }
  void put(size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) bytes_[at + i] = static_cast<std::byte>(value >> (8 * i));
  }

 private:
  std::vector<std::byte>& bytes_;
};

}  // namespace

std::vector<std::byte> with_checksums(Input file) {
  std::vector<std::byte> result(file.begin(), file.end());
  ZipBytes bytes(result);
  size_t end = result.size();
  while (end >= kEndBytes && bytes.number(end - kEndBytes, 4) != kEnd) --end;
  if (end < kEndBytes) return result;
  size_t at = bytes.number(end - kEndBytes + 16, 4);
  while (bytes.has(at, kCentralBytes) && bytes.number(at, 4) == kCentral) {
    const size_t record = at;
    at += kCentralBytes + bytes.number(at + 28, 2) + bytes.number(at + 30, 2) + bytes.number(at + 32, 2);
    const size_t local = bytes.number(record + 42, 4);
    if (!bytes.has(local, kLocalBytes) || bytes.number(local, 4) != kLocal) continue;
    const size_t size = bytes.number(record + 24, 4);
    const size_t begin = local + kLocalBytes + bytes.number(local + 26, 2) + bytes.number(local + 28, 2);
    if (!bytes.has(begin, size)) continue;
    const auto* content = reinterpret_cast<const unsigned char*>(result.data()) + begin;
    const auto checksum = static_cast<uint32_t>(crc32_z(crc32_z(0, nullptr, 0), content, size));
    const bool follows = (bytes.number(record + 8, 2) & 8) != 0;  // the checksum stands behind the content
    bytes.put(record + 16, checksum);
    if (!follows) bytes.put(local + 14, checksum);
  }
  return result;
}

}  // namespace cinnabar::fuzz
