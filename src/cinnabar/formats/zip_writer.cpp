// Format: PKWARE APPNOTE 6.3, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.14 to 4.3.16 (its end).
#include "cinnabar/formats/zip_writer.h"

#include <algorithm>
#include <limits>

#include "cinnabar/base/error.h"
#include "cinnabar/formats/checksum.h"

namespace cinnabar::formats {

namespace {

constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMost16 = std::numeric_limits<uint16_t>::max();
constexpr uint64_t kLocalHeaderBytes = 30;
constexpr uint64_t kAlignment = 64;
constexpr uint16_t kPaddingField = 0x4246;  // "FB": torch's own extra field, ignored by readers
constexpr uint64_t kFieldHeadBytes = 4;
constexpr uint16_t kVersion = 45;        // 4.5: the first with Zip64
constexpr uint16_t kFirstDay = 0x21;     // 1980-01-01: equal content gives equal files
constexpr uint16_t kUtf8Names = 0x0800;  // flag bit 11

template <class T>
void append(std::string& out, T value) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xFF);
}

uint32_t capped32(uint64_t value) { return static_cast<uint32_t>(std::min(value, kMost32)); }
uint16_t capped16(uint64_t value) { return static_cast<uint16_t>(std::min(value, kMost16)); }

}  // namespace

void StoredZipWriter::write(std::string_view bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void StoredZipWriter::add(const std::string& name, std::span<const std::byte> content) {
  if (content.size() >= kMost32 || name.size() > kMost16) {
    throw base::Error(base::ErrorCode::Format,
                      path_ + ": the entry " + name + " has " + std::to_string(content.size()) +
                          " bytes, which is over what one entry of this format may have (4 GiB): save "
                          "as safetensors");
  }
  const Entry entry{name, crc32_of(content), static_cast<uint32_t>(content.size()), written_};
  const uint64_t before = written_ + kLocalHeaderBytes + name.size() + kFieldHeadBytes;
  const uint64_t padding = (kAlignment - before % kAlignment) % kAlignment;
  std::string head;
  append<uint32_t>(head, 0x04034B50);
  append<uint16_t>(head, kVersion);
  append<uint16_t>(head, kUtf8Names);
  append<uint16_t>(head, 0);  // stored
  append<uint16_t>(head, 0);  // time
  append<uint16_t>(head, kFirstDay);
  append(head, entry.checksum);
  append(head, entry.size_bytes);
  append(head, entry.size_bytes);
  append(head, static_cast<uint16_t>(name.size()));
  append(head, static_cast<uint16_t>(kFieldHeadBytes + padding));
  head += name;
  append(head, kPaddingField);
  append(head, static_cast<uint16_t>(padding));
  head.append(padding, 'Z');
  write(head);
  file_.write(content);
  written_ += content.size();
  entries_.push_back(entry);
}

void StoredZipWriter::commit() {
  const uint64_t directory_at = written_;
  for (const Entry& entry : entries_) {
    const bool is_far = entry.offset >= kMost32;
    std::string row;
    append<uint32_t>(row, 0x02014B50);
    append<uint16_t>(row, kVersion);  // made by
    append<uint16_t>(row, kVersion);  // needed
    append<uint16_t>(row, kUtf8Names);
    append<uint16_t>(row, 0);
    append<uint16_t>(row, 0);
    append<uint16_t>(row, kFirstDay);
    append(row, entry.checksum);
    append(row, entry.size_bytes);
    append(row, entry.size_bytes);
    append(row, static_cast<uint16_t>(entry.name.size()));
    append<uint16_t>(row, is_far ? 12 : 0);  // extra field
    append<uint16_t>(row, 0);                // comment
    append<uint16_t>(row, 0);                // disk
    append<uint16_t>(row, 0);                // internal attributes
    append<uint32_t>(row, 0);                // external attributes
    append(row, capped32(entry.offset));
    row += entry.name;
    if (is_far) {
      append<uint16_t>(row, 1);  // Zip64
      append<uint16_t>(row, 8);
      append(row, entry.offset);
    }
    write(row);
  }
  const uint64_t end_at = written_;
  std::string end;
  if (end_at >= kMost32 || entries_.size() >= kMost16) {
    append<uint32_t>(end, 0x06064B50);
    append<uint64_t>(end, 44);  // bytes of this record that follow
    append<uint16_t>(end, kVersion);
    append<uint16_t>(end, kVersion);
    append<uint32_t>(end, 0);
    append<uint32_t>(end, 0);
    append<uint64_t>(end, entries_.size());
    append<uint64_t>(end, entries_.size());
    append<uint64_t>(end, end_at - directory_at);
    append<uint64_t>(end, directory_at);
    append<uint32_t>(end, 0x07064B50);
    append<uint32_t>(end, 0);
    append<uint64_t>(end, end_at);
    append<uint32_t>(end, 1);
  }
  append<uint32_t>(end, 0x06054B50);
  append<uint16_t>(end, 0);
  append<uint16_t>(end, 0);
  append(end, capped16(entries_.size()));
  append(end, capped16(entries_.size()));
  append(end, capped32(end_at - directory_at));
  append(end, capped32(directory_at));
  append<uint16_t>(end, 0);
  write(end);
  file_.commit();
}

}  // namespace cinnabar::formats
