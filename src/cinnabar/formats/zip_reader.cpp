#include "cinnabar/formats/zip_reader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cinnabar/base/checked.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/checksum.h"
#include "cinnabar/formats/safetensors_header.h"

namespace cinnabar::formats {

namespace {

using base::Error;
using base::ErrorCode;
using Bytes = std::span<const std::byte>;

// Record signatures and sizes: PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16.
constexpr uint64_t kLocalSignature = 0x04034b50, kLocalBytes = 30;
constexpr uint64_t kCentralSignature = 0x02014b50, kCentralBytes = 46;
constexpr uint64_t kEndSignature = 0x06054b50, kEndBytes = 22;
constexpr uint64_t kEnd64Signature = 0x06064b50, kEnd64Bytes = 56;
constexpr uint64_t kLocator64Signature = 0x07064b50, kLocator64Bytes = 20;
constexpr uint64_t kMaxCommentBytes = 0xffff;
constexpr uint64_t kMaxEntries = 1'000'000;
constexpr uint64_t kIn64 = 0xffffffff;     // the value stands in the zip64 extra field
constexpr uint64_t kCountIn64 = 0xffff;    // the same for numbers of entries
constexpr uint64_t kSizesFollow = 0x0008;  // flag: checksum and sizes stand behind the content, not in front of it
constexpr uint64_t kEncrypted = 0x2041;    // flags of the three ways to encrypt

struct Directory {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  uint64_t end = 0;  // where the record behind it begins
};

// What the directory says about an entry.
struct Entry {
  std::string name;
  uint64_t flags = 0;
  uint64_t checksum = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};

class Reader {
 public:
  Reader(Bytes file, const std::string& where) : file_(file), where_(where) {}

  std::map<std::string, Bytes> read() {
    const Directory directory = find_directory();
    if (directory.entries > kMaxEntries) refuse("too_many_entries", "it has more than 1000000 entries");
    uint64_t at = directory.offset;
    const uint64_t end = base::checked_add(directory.offset, directory.bytes);
    for (uint64_t i = 0; i < directory.entries; ++i) at = read_entry(at, end);
    if (at != end || end != directory.end) {
      refuse("bad_directory", "its directory has another length than its end says");
    }
    check_overlap();
    for (const auto& [name, checksum] : checksums_) check_content(name, checksum);
    return std::move(entries_);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason, const std::string& what) const {
    throw Error(ErrorCode::Format, where_ + ": not a usable zip archive: " + what, reason);
  }

  // `count` bytes at `offset`, checked against the file.
  Bytes slice(uint64_t offset, uint64_t count) const {
    if (offset > file_.size() || count > file_.size() - offset) {
      refuse("outside", "a record lies outside the file; the file is cut off or damaged, fetch it again");
    }
    return file_.subspan(offset, count);
  }

  // Little-endian number of `count` bytes inside a checked record.
  static uint64_t number(Bytes record, uint64_t offset, uint64_t count) {
    uint64_t value = 0;
    for (uint64_t i = 0; i < count; ++i) value |= std::to_integer<uint64_t>(record[offset + i]) << (8 * i);
    return value;
  }

  Directory find_directory() const {
    const uint64_t size = file_.size();
    for (uint64_t back = kEndBytes; back <= std::min(size, kEndBytes + kMaxCommentBytes); ++back) {
      const Bytes record = file_.subspan(size - back, kEndBytes);
      // The comment must reach exactly to the end of the file.
      if (number(record, 0, 4) != kEndSignature || number(record, 20, 2) != back - kEndBytes) continue;
      return read_end(record, size - back);
    }
    refuse("no_directory", "its directory at the end is missing; the file is cut off, fetch it again");
  }

  Directory read_end(Bytes record, uint64_t position) const {
    Directory directory{number(record, 10, 2), number(record, 12, 4), number(record, 16, 4), position};
    const bool is_one_disk =
        number(record, 4, 2) == 0 && number(record, 6, 2) == 0 && number(record, 8, 2) == directory.entries;
    const bool has_locator =
        position >= kLocator64Bytes &&
        number(file_.subspan(position - kLocator64Bytes, kLocator64Bytes), 0, 4) == kLocator64Signature;
    if (has_locator) {
      const Bytes locator = file_.subspan(position - kLocator64Bytes, kLocator64Bytes);
      const uint64_t position64 = number(locator, 8, 8);
      const Bytes end64 = slice(position64, kEnd64Bytes);
      if (number(end64, 0, 4) != kEnd64Signature) refuse("no_directory", "its zip64 directory record is damaged");
      if (number(end64, 16, 4) != 0 || number(end64, 20, 4) != 0) refuse("several_disks", "it spans several files");
      const Directory large{number(end64, 32, 8), number(end64, 40, 8), number(end64, 48, 8), position64};
      const bool agrees = (directory.entries == kCountIn64 || directory.entries == large.entries) &&
                          (directory.bytes == kIn64 || directory.bytes == large.bytes) &&
                          (directory.offset == kIn64 || directory.offset == large.offset) &&
                          number(end64, 24, 8) == large.entries;
      if (!agrees) refuse("zip64_mismatch", "the two records at its end disagree");
      directory = large;
    } else if (!is_one_disk) {
      refuse("several_disks", "it spans several files");
    }
    return directory;
  }

  // One directory entry at `at`; returns where the next begins.
  uint64_t read_entry(uint64_t at, uint64_t end) {
    const Bytes record = slice(at, kCentralBytes);
    if (number(record, 0, 4) != kCentralSignature) refuse("bad_directory", "its directory is damaged");
    const uint64_t name_bytes = number(record, 28, 2);
    const uint64_t extra_bytes = number(record, 30, 2);
    const uint64_t next = at + kCentralBytes + name_bytes + extra_bytes + number(record, 32, 2);
    if (next > end) refuse("bad_directory", "its directory is longer than it says");
    const Bytes name_field = slice(at + kCentralBytes, name_bytes);
    const std::string name(reinterpret_cast<const char*>(name_field.data()), name_field.size());
    check_name(name);
    const std::string title = "entry " + quote_name(name);
    Entry entry{.name = name,
                .flags = number(record, 8, 2),
                .checksum = number(record, 16, 4),
                .size = number(record, 24, 4),
                .offset = number(record, 42, 4)};
    if ((entry.flags & kEncrypted) != 0) refuse("encrypted", title + " is encrypted");
    if (number(record, 10, 2) != 0) {
      refuse("compressed", title +
                               " is compressed; torch.save stores without compression. Unpack the archive and pack it "
                               "again with \"zip -0\", or convert it to safetensors");
    }
    uint64_t stored = number(record, 20, 4);
    read_extra64(slice(at + kCentralBytes + name_bytes, extra_bytes), {&entry.size, &stored, &entry.offset}, title);
    if (stored != entry.size) refuse("size_mismatch", title + " is stored, but has two different sizes");
    add(entry, name_field);
    return next;
  }

  // APPNOTE 4.5.3: the 64-bit values of those of the fields that hold 0xffffffff, in this order.
  void read_extra64(Bytes extra, const std::vector<uint64_t*>& fields, const std::string& title) const {
    while (extra.size() >= 4) {
      const uint64_t id = number(extra, 0, 2);
      const uint64_t bytes = number(extra, 2, 2);
      if (bytes > extra.size() - 4) refuse("bad_directory", title + " has a damaged extra field");
      Bytes body = extra.subspan(4, bytes);
      extra = extra.subspan(4 + bytes);
      if (id != 1) continue;
      for (uint64_t* field : fields) {
        if (*field != kIn64) continue;
        if (body.size() < 8) refuse("bad_directory", title + " has a zip64 field that is too short");
        *field = number(body, 0, 8);
        body = body.subspan(8);
      }
      return;
    }
  }

  void add(const Entry& entry, Bytes name_field) {
    const std::string title = "entry " + quote_name(entry.name);
    const Bytes local = slice(entry.offset, kLocalBytes);
    if (number(local, 0, 4) != kLocalSignature || number(local, 8, 2) != 0) refuse("bad_entry", title + " is damaged");
    const uint64_t name_bytes = number(local, 26, 2);
    const Bytes local_name = slice(entry.offset + kLocalBytes, name_bytes);
    if (!std::equal(local_name.begin(), local_name.end(), name_field.begin(), name_field.end())) {
      refuse("bad_entry", title + " has another name in front of its data than in the directory");
    }
    const uint64_t extra_bytes = number(local, 28, 2);
    check_agreement(entry, local, slice(entry.offset + kLocalBytes + name_bytes, extra_bytes), title);
    const uint64_t begin = entry.offset + kLocalBytes + name_bytes + extra_bytes;
    const Bytes content = slice(begin, entry.size);
    if (!entries_.emplace(entry.name, content).second) refuse("duplicate_entry", title + " occurs twice");
    ranges_.emplace_back(entry.offset, begin + entry.size);
    checksums_.emplace_back(entry.name, entry.checksum);
  }

  // A file that says one thing to those who read its directory and another to those who read from its beginning is made
  // to deceive.
  void check_agreement(const Entry& entry, Bytes local, Bytes extra, const std::string& title) const {
    const bool sizes_follow = (entry.flags & kSizesFollow) != 0;
    const uint64_t checksum = number(local, 14, 4);
    uint64_t stored = number(local, 18, 4);
    uint64_t size = number(local, 22, 4);
    read_extra64(extra, {&size, &stored}, title);
    const bool agrees = number(local, 6, 2) == entry.flags && stored == size &&
                        ((sizes_follow && size == 0) || size == entry.size) &&
                        ((sizes_follow && checksum == 0) || checksum == entry.checksum);
    if (!agrees) refuse("bad_entry", title + " is described otherwise in front of its data than in the directory");
  }

  void check_content(const std::string& name, uint64_t checksum) const {
    if (checksum == 0 || crc32_of(entries_.at(name)) == checksum) return;
    refuse("checksum", "the content of entry " + quote_name(name) +
                           " is not what was written: its checksum differs. The file is damaged; fetch it again");
  }

  void check_name(const std::string& name) const {
    const std::string framed = "/" + name + "/";
    const bool is_bad = name.empty() || name.front() == '/' || framed.find("/../") != std::string::npos ||
                        name.find('\\') != std::string::npos || name.find('\0') != std::string::npos;
    if (is_bad) refuse("bad_name", "the entry name " + quote_name(name) + " is not allowed");
  }

  void check_overlap() {
    std::sort(ranges_.begin(), ranges_.end());
    for (size_t i = 1; i < ranges_.size(); ++i) {
      if (ranges_[i].first < ranges_[i - 1].second) refuse("overlap", "two of its entries overlap");
    }
  }

  Bytes file_;
  const std::string& where_;
  std::map<std::string, Bytes> entries_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
  std::vector<std::pair<std::string, uint64_t>> checksums_;
};

}  // namespace

std::map<std::string, Bytes> read_stored_zip(Bytes file, const std::string& where) {
  return Reader(file, where).read();
}

}  // namespace cinnabar::formats
