#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/formats/adapter_hashes.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/formats/safetensors_reader.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "formats/temporary_folder.h"

namespace cinnabar::formats {

namespace {

std::string length_field(uint64_t length) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((length >> (8 * i)) & 0xff);
  return text;
}

std::string file_of(const std::string& header, const std::string& data = {}) {
  return length_field(header.size()) + header + data;
}

// The short name of the rule that `file` breaks; "" when it is accepted.
std::string reason(const std::string& file) {
  // An exact-size heap copy, so that a read behind the end is seen by the address sanitizer.
  const std::vector<char> exact(file.begin(), file.end());
  try {
    parse_safetensors(std::as_bytes(std::span(exact)), "model.safetensors");
    return "";
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ErrorCode::Format);
    CHECK(error.message().starts_with("model.safetensors: "));
    return error.context();
  }
}

const std::string kEight(8, '\1');

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets + "]}";
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                const std::string& data = kEight) {
  return file_of("{" + entry("a", dtype, shape, offsets) + "}", data);
}

struct Sample {
  std::vector<float> floats{1.0f, -2.0f, 0.5f};
  std::vector<int64_t> whole{7};
  std::string bytes = std::string("\1\0\1", 3);

  std::vector<NamedTensor> tensors() const {
    return {{"z.bool", {Dtype::Bool, {3}, std::as_bytes(std::span(bytes))}},
            {"b", {Dtype::F32, {3, 1}, std::as_bytes(std::span(floats))}},
            {"a", {Dtype::F32, {3}, std::as_bytes(std::span(floats))}},
            {"fp8", {Dtype::F8E4M3, {3}, std::as_bytes(std::span(bytes))}},
            {"fp8b", {Dtype::F8E5M2, {1, 3}, std::as_bytes(std::span(bytes))}},
            {"empty", {Dtype::F16, {0, 4}, {}}},
            {"whole", {Dtype::I64, {}, std::as_bytes(std::span(whole))}}};
  }
};

}  // namespace

TEST_CASE("bad safetensors files are refused with the name of the broken rule") {
  const std::string good = "{" + entry("a", "F32", "2", "0,8") + "}";
  REQUIRE(reason(file_of(good, kEight)) == "");
  REQUIRE(reason(file_of(good + "     ", kEight)) == "");
  REQUIRE(reason(file_of("{}")) == "");

  CHECK(reason("") == "too_short");
  CHECK(reason("1234567") == "too_short");
  CHECK(reason(length_field(100'000'001)) == "header_over_limit");
  CHECK(reason(length_field(~0ull) + good) == "header_over_limit");
  CHECK(reason(length_field(good.size() + 9) + good + kEight) == "header_beyond_file");
  CHECK(reason(length_field(0) + good) == "header_start");
  CHECK(reason(file_of(" " + good, kEight)) == "header_start");
  CHECK(reason(file_of("\xef\xbb\xbf" + good, kEight)) == "header_start");
  CHECK(reason(file_of("[]")) == "header_start");
  CHECK(reason(file_of(good + "\n", kEight)) == "header_end");
  CHECK(reason(file_of(good + std::string(1, '\0'), kEight)) == "header_end");
  CHECK(reason(file_of("{ ")) == "header_end");
  CHECK(reason(file_of(good + "{}", kEight)) == "header_json");
  CHECK(reason(file_of("{\"a\":}")) == "header_json");
  CHECK(reason(file_of("{\"\xff\":{}}")) == "header_json");
  CHECK(reason(file_of("{//\n}")) == "header_json");
  CHECK(reason(file_of("{" + entry("a", "F32", "1", "0,4") + "," + entry("a", "F32", "1", "4,8") + "}", kEight)) ==
        "duplicate_key");
  CHECK(reason(file_of("{" + entry("a", "F32", "1", "0,4") + "," + entry("\\u0061", "F32", "1", "4,8") + "}",
                       kEight)) == "duplicate_key");
  CHECK(reason(file_of("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}")) == "duplicate_key");
  CHECK(reason(file_of("{\"__metadata__\":{},\"__metadata__\":{}}")) == "duplicate_key");
  CHECK(reason(file_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8]}})", kEight)) ==
        "duplicate_key");
  CHECK(reason(file_of("{\"__metadata__\":{\"k\":1}}")) == "metadata_not_text");
  CHECK(reason(file_of("{\"__metadata__\":{\"k\":{}}}")) == "metadata_not_text");
  CHECK(reason(file_of("{\"__metadata__\":[]}")) == "entry_not_object");
  CHECK(reason(file_of("{\"a\":3}")) == "entry_not_object");
  CHECK(reason(file_of(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"more":[]}})", kEight)) ==
        "unknown_field");
  CHECK(reason(file_of(R"({"a":{"dtype":"U8","shape":[8]}})", kEight)) == "missing_field");
  CHECK(reason(one("F33", "2", "0,8")) == "unknown_dtype");
  CHECK(reason(one("f32", "2", "0,8")) == "unknown_dtype");
  CHECK(reason(one("F32", "-2", "0,8")) == "bad_value");
  CHECK(reason(one("F32", "2.0", "0,8")) == "bad_value");
  CHECK(reason(one("F32", "[2]", "0,8")) == "bad_value");
  CHECK(reason(one("F32", "\"2\"", "0,8")) == "bad_value");
  CHECK(reason(one("F32", "2", "0")) == "bad_value");
  CHECK(reason(one("F32", "2", "0,8,8")) == "bad_value");
  CHECK(reason(one("F32", "18446744073709551616", "0,8")) == "bad_value");
  CHECK(reason(file_of(R"({"a":{"dtype":"U8","shape":8,"data_offsets":[0,8]}})", kEight)) == "bad_value");
  CHECK(reason(file_of(R"({"a":{"dtype":["U8"],"shape":[8],"data_offsets":[0,8]}})", kEight)) == "bad_value");
  CHECK(reason(one("F32", "9223372036854775808", "0,8")) == "size_overflow");
  CHECK(reason(one("F32", "4611686018427387904,4", "0,8")) == "size_overflow");
  CHECK(reason(one("U8", "0,4294967296,4294967296", "0,0", "")) == "size_overflow");
  CHECK(reason(one("F32", "2", "8,0")) == "offsets_reversed");
  CHECK(reason(one("F32", "2", "0,8", "1234567")) == "offsets_outside");
  CHECK(reason(one("F32", "2", "18446744073709551608,18446744073709551615")) == "offsets_outside");
  CHECK(reason(one("F32", "1", "0,8")) == "size_mismatch");
  CHECK(reason(one("BF16", "2", "0,8")) == "size_mismatch");
  CHECK(reason(file_of("{" + entry("a", "F32", "1", "0,4") + "," + entry("b", "F32", "1", "2,6") + "}", kEight)) ==
        "overlap");
  CHECK(reason(file_of("{" + entry("a", "F32", "2", "0,8") + "," + entry("b", "F32", "2", "0,8") + "}", kEight)) ==
        "overlap");
  CHECK(reason(one("F32", "1", "4,8")) == "hole");
  CHECK(reason(file_of("{" + entry("a", "U8", "1", "0,1") + "," + entry("b", "F32", "1", "4,8") + "}", kEight)) ==
        "hole");
  CHECK(reason(one("F32", "1", "0,4")) == "trailing_bytes");
  CHECK(reason(file_of("{}", "x")) == "trailing_bytes");
  CHECK(reason(one("BOOL", "8", "0,8", "\1\1\2\1\1\1\1\1")) == "bad_boolean");
}

TEST_CASE("deep nesting in the header is refused without using the stack") {
  const std::string deep(500'000, '[');
  CHECK(reason(file_of("{\"a\":" + deep + "}")) == "entry_not_object");
  CHECK(reason(file_of("{\"a\":{\"shape\":" + deep + "}}")) == "bad_value");
}

TEST_CASE("every cut of a good file is refused") {
  const Sample sample;
  const SafetensorsImage image(sample.tensors(), Metadata{{"k", "v"}});
  std::string whole;
  image.for_each_block([&](std::span<const std::byte> block) {
    whole.append(reinterpret_cast<const char*>(block.data()), block.size());
  });
  REQUIRE(whole.size() == image.size_bytes());
  REQUIRE(reason(whole) == "");
  for (size_t size = 0; size < whole.size(); ++size) CHECK(reason(whole.substr(0, size)) != "");
}

TEST_CASE("a written file is laid out as the reference library does") {
  const TemporaryFolder folder;
  const Sample sample;
  const auto path = folder / "out.safetensors";
  write_safetensors(path, sample.tensors(), {{"ss_b", "\xc3\xa9/\x01\""}, {"a", ""}});
  const std::string bytes = base::read_file(path);
  // Order and escapes were seen in files of safetensors 0.8.
  const std::string header =
      R"({"__metadata__":{"a":"","ss_b":"é/\u0001\""},"whole":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"F32","shape":[3],"data_offsets":[8,20]},"b":{"dtype":"F32","shape":[3,1],"data_offsets":[20,32]},)"
      R"("empty":{"dtype":"F16","shape":[0,4],"data_offsets":[32,32]},)"
      R"("fp8":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[32,35]},)"
      R"("fp8b":{"dtype":"F8_E5M2","shape":[1,3],"data_offsets":[35,38]},)"
      R"("z.bool":{"dtype":"BOOL","shape":[3],"data_offsets":[38,41]}})";
  const size_t padded = (header.size() + 7) / 8 * 8;
  CHECK(bytes.substr(0, 8) == length_field(padded));
  CHECK(bytes.substr(8, header.size()) == header);
  CHECK(bytes.substr(8 + header.size(), padded - header.size()) == std::string(padded - header.size(), ' '));
  CHECK(bytes.size() == 8 + padded + 41);
}

TEST_CASE("what is written is read back, with aligned views") {
  const TemporaryFolder folder;
  const Sample sample;
  const auto path = folder / "out.safetensors";
  write_safetensors(path, sample.tensors(), {{"key", "value"}});
  folder.put("out.json", "{\"heads\": 8}");
  const auto checkpoint = Checkpoint::open(path);
  CHECK(checkpoint->metadata() == Metadata{{"key", "value"}});
  CHECK(checkpoint->side_json() == "{\"heads\": 8}");
  CHECK(checkpoint->tensors().size() == 7);
  CHECK(checkpoint->at("b").shape == std::vector<int64_t>{3, 1});
  CHECK(checkpoint->at("whole").shape.empty());
  CHECK(checkpoint->at("fp8b").dtype == Dtype::F8E5M2);
  CHECK(std::memcmp(checkpoint->at("a").bytes.data(), sample.floats.data(), 12) == 0);
  CHECK(checkpoint->has_prefix("z."));
  CHECK_FALSE(checkpoint->has_prefix("y"));
  CHECK(checkpoint->find("absent") == nullptr);
  CHECK_THROWS_WITH_AS(checkpoint->at("absent"), doctest::Contains("\"absent\" is missing"), base::Error);

  // A valid file whose data does not begin at a multiple of four.
  const std::string header = "{" + entry("a", "F32", "2", "0,8") + "}";
  const auto odd = Checkpoint::open(
      folder.put("odd.safetensors", file_of(header + std::string(header.size() % 2 ? 0 : 1, ' '), kEight)));
  CHECK(reinterpret_cast<uintptr_t>(odd->at("a").bytes.data()) % 4 == 0);
  CHECK(std::memcmp(odd->at("a").bytes.data(), kEight.data(), 8) == 0);
}

TEST_CASE("the writer refuses what could not be read back") {
  const TemporaryFolder folder;
  const Sample sample;
  const auto floats = std::as_bytes(std::span(sample.floats));
  const auto refuses = [&](std::vector<NamedTensor> tensors, const Metadata& metadata = {}) {
    CHECK_THROWS_AS(write_safetensors(folder / "bad.safetensors", std::move(tensors), metadata), base::Error);
    CHECK_FALSE(std::filesystem::exists(folder / "bad.safetensors"));
  };
  refuses({{"a", {Dtype::F32, {3}, floats}}, {"a", {Dtype::F32, {3}, floats}}});
  refuses({{"a", {Dtype::F32, {2}, floats}}});
  refuses({{"a", {Dtype::F32, {-3}, floats}}});
  refuses({{"__metadata__", {Dtype::F32, {3}, floats}}});
  refuses({{"\xff", {Dtype::F32, {3}, floats}}});
  refuses({{"a", {Dtype::F32, {3}, floats}}}, {{"k", "\xff"}});
}

TEST_CASE("a mapped file that is shortened while open gives an error instead of ending the process") {
  const TemporaryFolder folder;
  const std::string data(1 << 20, '\3');
  const auto path = folder.put("cut.safetensors", file_of("{" + entry("a", "U8", "1048576", "0,1048576") + "}", data));
  const auto checkpoint = Checkpoint::open(path);
  const auto bytes = checkpoint->at("a").bytes;
  CHECK_NOTHROW(checkpoint->check());
  REQUIRE(::truncate(path.c_str(), 8192) == 0);
  CHECK(std::to_integer<int>(bytes.front()) == 3);
  CHECK(std::to_integer<int>(bytes.back()) == 0);
  CHECK_THROWS_WITH_AS(checkpoint->check(), doctest::Contains("was shortened"), base::Error);
}

TEST_CASE("hashes follow the reference formulas") {
  const TemporaryFolder folder;
  std::string big(0x120000, '\0');
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 7 + i / 251);
  const std::vector<NamedTensor> tensors{{"b", {Dtype::U8, {0x120000}, std::as_bytes(std::span(big))}}};
  const Metadata metadata{{"ss_network_dim", "4"}, {"modelspec.title", "left out"}, {"sshs_model_hash", "left out"}};
  const auto path = folder / "big.safetensors";
  write_safetensors(path, tensors, {{"ss_network_dim", "4"}});

  CHECK(sshs_model_hash(tensors) == base::sha256_hex(big));
  CHECK(data_hash_of_file(path) == base::sha256_hex(big));
  const std::string file = base::read_file(path);
  CHECK(sshs_legacy_hash(tensors, metadata) == base::sha256_hex(file.substr(0x100000, 0x10000)).substr(0, 8));
  CHECK(sshs_legacy_hash(tensors, metadata) == legacy_hash_of_file(path));
  CHECK(sshs_legacy_hash({}, {}) == "e3b0c442");
  CHECK(legacy_hash_of_file(folder.put("small.ckpt", "short")) == "e3b0c442");
  CHECK_THROWS_AS(legacy_hash_of_file(folder / "absent"), base::Error);
}

}  // namespace cinnabar::formats
