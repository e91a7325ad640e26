#include "cinnabar/formats/safetensors_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "cinnabar/base/checked.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/mapped_file.h"
#include "cinnabar/base/mapping_guard.h"
#include "cinnabar/formats/safetensors_header.h"

namespace cinnabar::formats {

namespace {

using base::Error;
using base::ErrorCode;

class Parser {
 public:
  Parser(std::span<const std::byte> file, const std::string& where) : file_(file), where_(where) {}

  SafetensorsContent parse() {
    const std::string_view json = header_text();
    SafetensorsHeader header = parse_safetensors_header(json, where_);
    const std::span<const std::byte> data = file_.subspan(8 + json_bytes_);
    SafetensorsContent content;
    content.metadata = std::move(header.metadata);
    content.data_begin = 8 + json_bytes_;
    for (HeaderEntry& entry : header.entries) check_size(entry, data.size());
    check_coverage(header.entries, data.size());
    for (HeaderEntry& entry : header.entries) {
      const auto bytes = data.subspan(entry.begin, entry.end - entry.begin);
      if (entry.dtype == Dtype::Bool) check_booleans(entry, bytes);
      content.tensors.emplace(std::move(entry.name), TensorView{entry.dtype, std::move(entry.shape), bytes});
    }
    return content;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason, const std::string& what) const {
    throw Error(ErrorCode::Format, where_ + ": not a valid safetensors file: " + what, reason);
  }

  // The JSON text of the header without its padding.
  std::string_view header_text() {
    if (file_.size() < 8) {
      refuse("too_short", "it has " + std::to_string(file_.size()) +
                              " bytes, the length of the header alone takes 8. The "
                              "file is cut off or of another kind; fetch it again");
    }
    json_bytes_ = 0;
    for (size_t i = 0; i < 8; ++i) json_bytes_ |= std::to_integer<uint64_t>(file_[i]) << (8 * i);
    if (json_bytes_ > kMaxHeaderBytes) {
      refuse("header_over_limit", "its header would have " + std::to_string(json_bytes_) + " bytes, at most " +
                                      std::to_string(kMaxHeaderBytes) +
                                      " are allowed. It is damaged or of another kind");
    }
    if (json_bytes_ > file_.size() - 8) {
      refuse("header_beyond_file", "its header should have " + std::to_string(json_bytes_) +
                                       " bytes, but the file ends after " + std::to_string(file_.size() - 8) +
                                       ". The file is cut off; fetch it again");
    }
    std::string_view text(reinterpret_cast<const char*>(file_.data()) + 8, json_bytes_);
    if (text.empty() || text.front() != '{') refuse("header_start", "its header does not start with '{'");
    text = text.substr(0, text.find_last_not_of(' ') + 1);
    if (text.back() != '}') refuse("header_end", "its header does not end with '}' and spaces");
    return text;
  }

  void check_size(const HeaderEntry& entry, uint64_t data_bytes) const {
    const std::string name = "tensor " + quote_name(entry.name);
    uint64_t bytes = element_size(entry.dtype);
    // Strides are products of the dimensions with 1 in the place of 0, and must fit a signed number as well.
    uint64_t strides = 1;
    try {
      for (const int64_t size : entry.shape) {
        bytes = base::checked_mul(bytes, static_cast<uint64_t>(size));
        strides = base::checked_mul(strides, static_cast<uint64_t>(std::max<int64_t>(size, 1)));
      }
    } catch (const Error&) {
      refuse("size_overflow", name + " has a shape whose product overflows 64 bits");
    }
    if (strides > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      refuse("size_overflow", name + " has a shape whose product overflows 63 bits");
    }
    if (entry.begin > entry.end) refuse("offsets_reversed", name + " ends before it begins");
    if (entry.end > data_bytes) {
      refuse("offsets_outside", name + " ends at byte " + std::to_string(entry.end) + " of the data, the file has " +
                                    std::to_string(data_bytes) + ". The file is cut off; fetch it again");
    }
    if (entry.end - entry.begin != bytes) {
      refuse("size_mismatch", name + " has " + std::to_string(entry.end - entry.begin) + " bytes by its offsets, " +
                                  std::to_string(bytes) + " by its shape and dtype");
    }
  }

  void check_coverage(const std::vector<HeaderEntry>& entries, uint64_t data_bytes) const {
    std::vector<const HeaderEntry*> order;
    order.reserve(entries.size());
    for (const HeaderEntry& entry : entries) order.push_back(&entry);
    std::sort(order.begin(), order.end(), [](const HeaderEntry* a, const HeaderEntry* b) {
      return std::tie(a->begin, a->end) < std::tie(b->begin, b->end);
    });
    uint64_t cursor = 0;
    for (const HeaderEntry* entry : order) {
      if (entry->begin < cursor) refuse("overlap", "tensor " + quote_name(entry->name) + " overlaps the one before it");
      if (entry->begin > cursor)
        refuse("hole", "bytes before tensor " + quote_name(entry->name) + " belong to no tensor");
      cursor = entry->end;
    }
    if (cursor != data_bytes) {
      refuse("trailing_bytes", std::to_string(data_bytes - cursor) + " bytes behind the last tensor belong to none");
    }
  }

  void check_booleans(const HeaderEntry& entry, std::span<const std::byte> bytes) const {
    if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return std::to_integer<unsigned>(b) > 1; })) {
      refuse("bad_boolean", "tensor " + quote_name(entry.name) + " is BOOL, but has bytes other than 0 and 1");
    }
  }

  std::span<const std::byte> file_;
  const std::string& where_;
  uint64_t json_bytes_ = 0;
};

class SafetensorsFile : public Checkpoint {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path) : file_(path), guard_(file_.bytes(), path) {
    path_ = path;
    SafetensorsContent content = parse_safetensors(file_.bytes(), path.string());
    guard_.check();
    tensors_ = std::move(content.tensors);
    metadata_ = std::move(content.metadata);
    for (auto& [name, view] : tensors_) align(view);
    guard_.check();
  }

  void check() const override { guard_.check(); }

 private:
  void align(TensorView& view) {
    if (view.bytes.empty() || reinterpret_cast<uintptr_t>(view.bytes.data()) % element_size(view.dtype) == 0) return;
    auto copy = std::make_unique<std::byte[]>(view.bytes.size());
    std::memcpy(copy.get(), view.bytes.data(), view.bytes.size());
    view.bytes = {copy.get(), view.bytes.size()};
    copies_.push_back(std::move(copy));
  }

  base::MappedFile file_;
  base::MappingGuard guard_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
};

}  // namespace

SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& where) {
  return Parser(file, where).parse();
}

std::unique_ptr<Checkpoint> open_safetensors(const std::filesystem::path& path) {
  return std::make_unique<SafetensorsFile>(path);
}

}  // namespace cinnabar::formats
