#include "cinnabar/formats/tensorboard.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "formats/archive_builder.h"
#include "formats/temporary_folder.h"

namespace cinnabar::formats {

namespace {

uint32_t crc(const std::string& text) { return crc32c(std::as_bytes(std::span(text))); }

uint64_t number_at(const std::string& text, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(text.at(at + static_cast<size_t>(i)))) << (8 * i);
  return value;
}

uint32_t masked(const std::string& text) {
  const uint32_t value = crc(text);
  return ((value >> 15) | (value << 17)) + 0xa282ead8u;
}

// Splits a file into its events and checks the framing.
std::vector<std::string> events(const std::string& file) {
  std::vector<std::string> result;
  for (size_t at = 0; at < file.size();) {
    const std::string length = file.substr(at, 8);
    const uint64_t size = number_at(file, at, 8);
    CHECK(number_at(file, at + 8, 4) == masked(length));
    result.push_back(file.substr(at + 12, size));
    REQUIRE(result.back().size() == size);
    CHECK(number_at(file, at + 12 + size, 4) == masked(result.back()));
    at += size + 16;
  }
  return result;
}

std::string double_bytes(double value) { return little_endian(std::bit_cast<uint64_t>(value), 8); }
std::string float_bytes(float value) { return little_endian(std::bit_cast<uint32_t>(value), 4); }

}  // namespace

TEST_CASE("crc32c gives the published check values") {
  CHECK(crc("123456789") == 0xe3069283u);
  CHECK(crc(std::string(32, '\0')) == 0x8a9136aau);  // RFC 3720, B.4
  CHECK(crc(std::string(32, '\xff')) == 0x62a8ab43u);
}

TEST_CASE("event files have the framing and the messages of TensorBoard") {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder / "logs/run");
  writer.scalar("loss", 300, 0.25f, 1000.5);
  writer.text("prompt", 1, "a cat", 2.0);
  writer.flush();
  const std::vector<std::string> found = events(base::read_file(writer.path()));
  REQUIRE(found.size() == 3);
  CHECK(found[0].substr(0, 1) == "\x09");  // wall time, fixed 64 bits
  CHECK(found[0].substr(9) ==
        "\x1a\x0d"
        "brain.Event:2");
  // Step 300 is the varint ac 02; summary, value, tag and simple_value.
  CHECK(found[1] ==
        "\x09" + double_bytes(1000.5) + "\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15" + float_bytes(0.25f));
  // Tensor: dtype 7, shape {1}, one string; metadata: plug-in "text".
  const std::string tensor = std::string("\x08\x07\x12\x04\x12\x02\x08\x01\x42\x05", 10) + "a cat";
  const std::string value = "\x0a\x06prompt\x42\x0f" + tensor + "\x4a\x08\x0a\x06\x0a\x04text";
  CHECK(found[2] == "\x09" + double_bytes(2.0) + "\x10\x01\x2a" + static_cast<char>(value.size() + 2) + "\x0a" +
                        static_cast<char>(value.size()) + value);
}

TEST_CASE("every writer has a file of its own and names no host") {
  const TemporaryFolder folder;
  const TensorBoardWriter first(folder / "logs");
  const TensorBoardWriter second(folder / "logs");
  CHECK(first.path() != second.path());
  const std::string name = second.path().filename().string();
  CHECK(name.starts_with("events.out.tfevents."));
  CHECK(name.find(".cinnabar.") != std::string::npos);
  folder.put("file", "");
  CHECK_THROWS_WITH_AS(TensorBoardWriter(folder / "file/logs"),
                       doctest::Contains("cannot make the folder of the event file"), base::Error);
}

TEST_CASE("numbers that are not finite are written as they are") {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder / "logs");
  writer.scalar("loss", -1, std::nanf(""));
  const std::string event = events(base::read_file(writer.path())).at(1);
  float value = 0.0f;
  std::memcpy(&value, event.data() + event.size() - 4, 4);
  CHECK(std::isnan(value));
}

}  // namespace cinnabar::formats
