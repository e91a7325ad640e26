#include "cinnabar/formats/tensorboard.h"

#include <fcntl.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>

#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/path_kind.h"

namespace cinnabar::formats {

namespace {

// The few protobuf messages that we write, by their public field numbers (tensorflow/core/util/event.proto,
// framework/summary.proto, framework/tensor.proto, framework/tensor_shape.proto).
constexpr uint32_t kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5;
constexpr uint32_t kSummaryValue = 1;
constexpr uint32_t kValueTag = 1, kValueSimple = 2, kValueTensor = 8, kValueMetadata = 9;
constexpr uint32_t kMetadataPlugin = 1, kPluginName = 1;
constexpr uint32_t kTensorDtype = 1, kTensorShape = 2, kTensorText = 8, kShapeDimension = 2, kDimensionSize = 1;
constexpr uint64_t kDtypeText = 7;

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
    table[i] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = make_crc_table();

// A protobuf message under construction.
class Message {
 public:
  Message& varint(uint32_t field, uint64_t value) {
    put_varint(uint64_t{field} << 3);
    put_varint(value);
    return *this;
  }
  Message& fixed64(uint32_t field, uint64_t bits) {
    put_varint(uint64_t{field} << 3 | 1);
    put_bytes(bits, 8);
    return *this;
  }
  Message& fixed32(uint32_t field, uint32_t bits) {
    put_varint(uint64_t{field} << 3 | 5);
    put_bytes(bits, 4);
    return *this;
  }
  Message& bytes(uint32_t field, std::string_view content) {
    put_varint(uint64_t{field} << 3 | 2);
    put_varint(content.size());
    text_ += content;
    return *this;
  }
  Message& message(uint32_t field, const Message& inner) { return bytes(field, inner.text_); }
  const std::string& text() const { return text_; }

 private:
  void put_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
    text_ += static_cast<char>(value);
  }
  void put_bytes(uint64_t bits, int count) {
    for (int i = 0; i < count; ++i) text_ += static_cast<char>((bits >> (8 * i)) & 0xff);
  }
  std::string text_;
};

Message event_at(double wall_time_s) {
  if (wall_time_s == 0.0) {
    wall_time_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  Message event;
  event.fixed64(kEventWallTime, std::bit_cast<uint64_t>(wall_time_s));
  return event;
}

// TFRecord checksums are rotated and shifted, so that a checksum of data that holds checksums is sound.
std::string masked_crc(std::string_view text) {
  const uint32_t crc = crc32c(std::as_bytes(std::span(text)));
  const uint32_t masked = std::rotr(crc, 15) + 0xa282ead8u;
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>((masked >> (8 * i)) & 0xff);
  return bytes;
}

[[noreturn]] void fail(std::string_view what, const std::filesystem::path& path, int error) {
  throw base::write_error("cannot " + std::string(what), path, error);
}

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ std::to_integer<uint32_t>(byte)) & 0xff];
  return ~crc;
}

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder) {
  if (!base::make_folders(folder)) fail("make the folder of the event file", folder, errno);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string stem = "events.out.tfevents." +
                           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count()) + ".cinnabar.";
  for (int n = 0; fd_ < 0; ++n) {
    path_ = folder / (stem + std::to_string(n));
    fd_ = base::file_calls().open(path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd_ < 0 && (errno != EEXIST || n > 1000)) fail("create the event file", path_, errno);
  }
  Message first = event_at(0.0);
  try {
    append(first.bytes(kEventFileVersion, "brain.Event:2").text());
  } catch (...) {  // handed on: a file without its first event is none
    base::file_calls().close(fd_);
    base::file_calls().unlink(path_);
    throw;
  }
}

TensorBoardWriter::~TensorBoardWriter() {
  if (fd_ >= 0) base::file_calls().close(fd_);
}

void TensorBoardWriter::scalar(std::string_view tag, int64_t step, float value, double wall_time_s) {
  Message item;
  item.bytes(kValueTag, tag).fixed32(kValueSimple, std::bit_cast<uint32_t>(value));
  Message event = event_at(wall_time_s);
  event.varint(kEventStep, static_cast<uint64_t>(step));
  append(event.message(kEventSummary, Message().message(kSummaryValue, item)).text());
}

void TensorBoardWriter::text(std::string_view tag, int64_t step, std::string_view value, double wall_time_s) {
  const Message shape = Message().message(kShapeDimension, Message().varint(kDimensionSize, 1));
  Message tensor;
  tensor.varint(kTensorDtype, kDtypeText).message(kTensorShape, shape).bytes(kTensorText, value);
  const Message metadata = Message().message(kMetadataPlugin, Message().bytes(kPluginName, "text"));
  Message item;
  item.bytes(kValueTag, tag).message(kValueTensor, tensor).message(kValueMetadata, metadata);
  Message event = event_at(wall_time_s);
  event.varint(kEventStep, static_cast<uint64_t>(step));
  append(event.message(kEventSummary, Message().message(kSummaryValue, item)).text());
}

void TensorBoardWriter::flush() {
  if (base::file_calls().sync(fd_) != 0) fail("sync the event file", path_, errno);
}

// One record: length, its checksum, the event, its checksum; in one write, so that a reader never sees half of it.
void TensorBoardWriter::append(const std::string& event) {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>((static_cast<uint64_t>(event.size()) >> (8 * i)) & 0xff);
  const std::string record = length + masked_crc(length) + event + masked_crc(event);
  if (!base::write_all(fd_, std::as_bytes(std::span(record)))) fail("write the event file", path_, errno);
}

}  // namespace cinnabar::formats
