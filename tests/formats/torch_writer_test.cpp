#include "cinnabar/formats/torch_writer.h"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

#include "cinnabar/base/error.h"
#include "formats/temporary_folder.h"

namespace cinnabar::formats {

namespace {

template <class T>
TensorView view_of(const std::vector<T>& values, Dtype dtype, std::vector<int64_t> shape) {
  return {dtype, std::move(shape), std::as_bytes(std::span(values))};
}

}  // namespace

TEST_CASE("what is written is read again") {
  const TemporaryFolder folder;
  std::vector<float> many(70000);
  std::iota(many.begin(), many.end(), 0.5F);
  const std::vector<int64_t> whole{7};
  const std::vector<uint16_t> half{0x3C00, 0xC000};
  const std::vector<float> none;
  const auto path = folder / "model.ckpt";
  write_torch_file(path, {{"z.weight", view_of(many, Dtype::F32, {700, 100})},
                          {"alpha", view_of(whole, Dtype::I64, {})},
                          {"half", view_of(half, Dtype::BF16, {1, 2})},
                          {"na\xC3\xAFve", view_of(none, Dtype::F32, {0, 3})}});
  const auto file = Checkpoint::open(path);
  REQUIRE(file->tensors().size() == 4);
  CHECK(file->metadata().empty());
  const TensorView& found = file->at("z.weight");
  CHECK(found.dtype == Dtype::F32);
  CHECK(found.shape == std::vector<int64_t>{700, 100});
  REQUIRE(found.bytes.size() == many.size() * sizeof(float));
  CHECK(std::memcmp(found.bytes.data(), many.data(), found.bytes.size()) == 0);
  CHECK(file->at("alpha").shape.empty());
  CHECK(file->at("alpha").dtype == Dtype::I64);
  CHECK(file->at("half").dtype == Dtype::BF16);
  CHECK(file->at("na\xC3\xAFve").shape == std::vector<int64_t>{0, 3});
}

TEST_CASE("contents start at multiples of 64 bytes") {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 2, 3};
  const auto path = folder / "a.pt";
  write_torch_file(path, {{"a", view_of(values, Dtype::F32, {3})}, {"b", view_of(values, Dtype::F32, {3})}});
  const auto file = Checkpoint::open(path);
  for (const char* name : {"a", "b"}) CHECK(reinterpret_cast<uintptr_t>(file->at(name).bytes.data()) % 64 == 0);
}

TEST_CASE("tensors that the format cannot hold are refused by name") {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 2, 3};
  const std::vector<uint8_t> bytes{1, 2};
  const auto path = folder / "a.ckpt";
  using doctest::Contains;
  CHECK_THROWS_WITH_AS(write_torch_file(path, {{"a", view_of(values, Dtype::F32, {4})}}),
                       Contains("tensor a has 12 bytes"), base::Error);
  CHECK_THROWS_WITH_AS(write_torch_file(path, {{"a", view_of(bytes, Dtype::F8E4M3, {2})}}), Contains("F8_E4M3"),
                       base::Error);
  CHECK_THROWS_WITH_AS(
      write_torch_file(path, {{"a", view_of(values, Dtype::F32, {3})}, {"a", view_of(values, Dtype::F32, {3})}}),
      Contains("twice"), base::Error);
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace cinnabar::formats
