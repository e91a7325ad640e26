#include "cinnabar/data/scan_index.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <type_traits>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/sha256.h"

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

// Changes with everything that a scan finds out, so that older indexes are not used.
constexpr std::string_view kMagic = "cinnabar-scan-index-1\n";
constexpr size_t kHashDigits = 64;
constexpr int64_t kRecentNs = 2'000'000'000;  // file systems tell times in steps of up to two seconds

// Layout of the file: magic, prefix, count, count + 1 offsets, records, SHA-256 of all before as hex digits. Numbers
// are little-endian as in memory: an index is not carried to another machine, and a wrong one is found out.
class Writer {
 public:
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void number(Number value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<uint32_t>(value.size()));
    bytes += value;
  }
  void stamp(const FileStamp& value) {
    number(value.size);
    number(value.written_ns);
    number(value.changed_ns);
    number(value.inode);
  }

  std::string bytes;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class Number>
  Number number() {
    Number value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number<uint32_t>()); }
  FileStamp stamp() {
    FileStamp value;
    value.size = number<uint64_t>();
    value.written_ns = number<int64_t>();
    value.changed_ns = number<int64_t>();
    value.inode = number<uint64_t>();
    return value;
  }
  std::string_view take(size_t count) {
    if (count > rest_.size()) throw base::Error(base::ErrorCode::Format, "it ends too early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

std::string record_of(std::string_view name, const IndexEntry& entry) {
  Writer writer;
  writer.text(name);
  writer.stamp(entry.stamp);
  const PictureInfo& info = entry.facts.info;
  writer.number(static_cast<uint8_t>(info.kind));
  for (const int64_t side : {info.stored.width, info.stored.height, info.upright.width, info.upright.height})
    writer.number(side);
  writer.number(static_cast<int32_t>(info.orientation));
  writer.number(static_cast<uint8_t>(info.is_cut_off));
  writer.number(static_cast<uint32_t>(info.notes.size()));
  for (const std::string& note : info.notes) writer.text(note);
  writer.text(entry.facts.missing_end);
  writer.number(static_cast<uint8_t>(entry.caption.has_value()));
  if (entry.caption) {
    writer.text(entry.caption->name);
    writer.stamp(entry.caption->stamp);
    writer.number(static_cast<uint8_t>(entry.caption->keeps_lines));
    writer.text(entry.caption->text);
    writer.number(static_cast<uint8_t>(entry.caption->had_byte_order_mark));
  }
  return std::move(writer.bytes);
}

std::string_view name_of(std::string_view record) { return Reader(record).text(); }

IndexEntry entry_of(std::string_view record) {
  Reader reader(record);
  (void)reader.text();
  IndexEntry entry;
  entry.stamp = reader.stamp();
  PictureInfo& info = entry.facts.info;
  const auto kind = reader.number<uint8_t>();
  if (kind > static_cast<uint8_t>(PictureKind::Avif)) throw base::Error(base::ErrorCode::Format, "no such kind");
  info.kind = static_cast<PictureKind>(kind);
  for (int64_t* side : {&info.stored.width, &info.stored.height, &info.upright.width, &info.upright.height})
    *side = reader.number<int64_t>();
  info.orientation = reader.number<int32_t>();
  info.is_cut_off = reader.number<uint8_t>() != 0;
  for (auto notes = reader.number<uint32_t>(); notes > 0; --notes) info.notes.emplace_back(reader.text());
  entry.facts.missing_end = reader.text();
  if (reader.number<uint8_t>() != 0) {
    CaptionFacts caption;
    caption.name = reader.text();
    caption.stamp = reader.stamp();
    caption.keeps_lines = reader.number<uint8_t>() != 0;
    caption.text = reader.text();
    caption.had_byte_order_mark = reader.number<uint8_t>() != 0;
    entry.caption = std::move(caption);
  }
  return entry;
}

}  // namespace

ScanIndex::ScanIndex(fs::path file, fs::path folder, int64_t now_ns)
    : file_(std::move(file)), prefix_((std::move(folder) / "").native()), now_ns_(now_ns) {
  if (now_ns_ == 0) {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    now_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
  }
  std::error_code error;
  if (!fs::exists(file_, error)) return;
  try {
    read();
  } catch (const base::Error& failure) {
    problem_ = failure.message();
    content_.clear();
    offsets_.clear();
    used_.clear();
  }
}

fs::path ScanIndex::file_for(const fs::path& indexes, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  return indexes / (base::sha256_hex((error ? folder : real).native()).substr(0, 32) + ".index");
}

void ScanIndex::read() {
  content_ = base::read_file(file_, size_t{4} << 30U);
  if (!content_.starts_with(kMagic)) throw base::Error(base::ErrorCode::Format, "it is of another version or kind");
  if (content_.size() < kMagic.size() + kHashDigits) throw base::Error(base::ErrorCode::Format, "it ends too early");
  const std::string_view body = std::string_view(content_).substr(0, content_.size() - kHashDigits);
  if (base::sha256_hex(body) != std::string_view(content_).substr(body.size()))
    throw base::Error(base::ErrorCode::Format, "its checksum is wrong");
  Reader reader(body.substr(kMagic.size()));
  (void)reader.text();  // the folder, for people: names below another path of the same folder are as good
  const auto count = reader.number<uint64_t>();
  if (count >= reader.left() / sizeof(uint64_t)) throw base::Error(base::ErrorCode::Format, "it ends too early");
  offsets_.reserve(count + 1);
  for (uint64_t i = 0; i <= count; ++i) {
    const auto offset = reader.number<uint64_t>();
    if (offset > body.size() || (i > 0 && offset < offsets_.back()))
      throw base::Error(base::ErrorCode::Format, "it points beyond its end");
    offsets_.push_back(offset);
  }
  used_.assign(count, 0);
}

std::string_view ScanIndex::record(size_t index) const {
  return std::string_view(content_).substr(offsets_[index], offsets_[index + 1] - offsets_[index]);
}

std::optional<IndexEntry> ScanIndex::find(const fs::path& picture, const FileStamp& stamp) {
  const std::string& path = picture.native();
  if (used_.empty() || !path.starts_with(prefix_)) return std::nullopt;
  const std::string_view name = std::string_view(path).substr(prefix_.size());
  try {
    size_t low = 0;
    for (size_t high = used_.size(); low < high;) {
      const size_t middle = low + (high - low) / 2;
      if (name_of(record(middle)) < name) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == used_.size() || name_of(record(low)) != name) return std::nullopt;
    IndexEntry entry = entry_of(record(low));
    if (entry.stamp != stamp) return std::nullopt;
    used_[low] = 1;
    return entry;
  } catch (const base::Error&) {
    return std::nullopt;  // a record that cannot be read is as good as none; the checksum makes that unlikely
  }
}

void ScanIndex::add(const fs::path& picture, const IndexEntry& entry) {
  const std::string& path = picture.native();
  const auto is_recent = [&](const FileStamp& stamp) {
    return std::max(stamp.changed_ns, stamp.written_ns) > now_ns_ - kRecentNs;
  };
  if (!path.starts_with(prefix_) || is_recent(entry.stamp)) return;
  IndexEntry kept = entry;
  if (kept.caption && is_recent(kept.caption->stamp)) kept.caption.reset();
  std::string record = record_of(std::string_view(path).substr(prefix_.size()), kept);
  const std::lock_guard lock(mutex_);
  added_.push_back(std::move(record));
}

std::string ScanIndex::save() {
  const bool is_complete = std::ranges::all_of(used_, [](char used) { return used != 0; });
  if (added_.empty() && is_complete) return {};
  std::vector<std::pair<std::string_view, std::string_view>> records;  // name and record
  try {
    std::vector<std::string_view> names;
    for (const std::string& one : added_) names.push_back(name_of(one));
    std::ranges::sort(names);
    // What was found, but is told otherwise now (a caption that changed), is among the added ones.
    for (size_t i = 0; i < used_.size(); ++i) {
      const std::string_view name = name_of(record(i));
      if (used_[i] != 0 && !std::ranges::binary_search(names, name)) records.emplace_back(name, record(i));
    }
    for (const std::string& one : added_) records.emplace_back(name_of(one), one);
    std::ranges::sort(records);
    Writer head;
    head.bytes = kMagic;
    head.text(prefix_);
    head.number(static_cast<uint64_t>(records.size()));
    uint64_t offset = head.bytes.size() + (records.size() + 1) * sizeof(uint64_t);
    for (const auto& [name, bytes] : records) {
      head.number(offset);
      offset += bytes.size();
    }
    head.number(offset);
    base::Sha256 hash;
    fs::create_directories(file_.parent_path());
    base::AtomicFile out(file_);
    const auto put = [&](std::string_view bytes) {
      hash.update(bytes);
      out.write(bytes);
    };
    put(head.bytes);
    std::string block;  // few calls of the system
    for (const auto& [name, bytes] : records) {
      block += bytes;
      if (block.size() < size_t{1} << 20U) continue;
      put(block);
      block.clear();
    }
    put(block);
    out.write(hash.hex());
    out.commit();
    return {};
  } catch (const base::Error& error) {
    return error.message();
  } catch (const fs::filesystem_error& error) {
    return error.what();
  }
}

}  // namespace cinnabar::data
