#include "cinnabar/formats/npz.h"

#include <doctest/doctest.h>

#include <cstring>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/zip_writer.h"
#include "formats/temporary_folder.h"

namespace cinnabar::formats {
namespace {

const std::filesystem::path kData = std::filesystem::path(CINNABAR_TESTS_DIR) / "formats" / "data";

template <class T>
std::vector<T> numbers(const NpyArray& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

template <class T>
NpyArray array_of(Dtype dtype, const std::vector<int64_t>& shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype, shape, {bytes.begin(), bytes.end()}};
}

TEST_CASE("reads_what_numpy_wrote") {
  const NpzArrays arrays = read_npz(kData / "numpy.npz");
  REQUIRE(arrays.size() == 7);
  CHECK(arrays.at("latents").dtype == Dtype::F32);
  CHECK(arrays.at("latents").shape == std::vector<int64_t>{4, 2, 3});
  CHECK(numbers<float>(arrays.at("latents"))[23] == 23.0F / 8);
  CHECK(numbers<int64_t>(arrays.at("original_size")) == std::vector<int64_t>{48, 32});
  CHECK(numbers<double>(arrays.at("crop_ltrb")) == std::vector<double>{0.0, 1.0, 24.5, 2.0});
  CHECK(numbers<int32_t>(arrays.at("columns")) == std::vector<int32_t>{0, 1, 2, 3, 4, 5});  // was column-major
  CHECK(arrays.at("half").dtype == Dtype::F16);
  CHECK(arrays.at("flags").dtype == Dtype::Bool);
  CHECK(arrays.at("number").shape.empty());
  CHECK(numbers<uint8_t>(arrays.at("number")) == std::vector<uint8_t>{7});
}

TEST_CASE("reads_its_own_files_and_writes_equal_bytes_for_equal_arrays") {
  const TemporaryFolder folder;
  NpzArrays arrays;
  arrays["latents"] = array_of<float>(Dtype::F32, {1, 2, 2}, {1, 2, 3, 4});
  arrays["original_size"] = array_of<int64_t>(Dtype::I64, {2}, {640, 480});
  arrays["one"] = array_of<double>(Dtype::F64, {}, {0.5});
  write_npz(folder / "a.npz", arrays);
  write_npz(folder / "b.npz", arrays);
  CHECK(base::read_file(folder / "a.npz") == base::read_file(folder / "b.npz"));
  const NpzArrays again = read_npz(folder / "a.npz");
  REQUIRE(again.size() == 3);
  for (const auto& [name, array] : arrays) {
    CHECK(again.at(name).dtype == array.dtype);
    CHECK(again.at(name).shape == array.shape);
    CHECK(again.at(name).bytes == array.bytes);
  }
}

TEST_CASE("numpy_has_no_bf16") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(write_npz(folder / "a.npz", {{"x", {Dtype::BF16, {1}, std::vector<std::byte>(2)}}}),
                       doctest::Contains("numpy has no elements of the type BF16"), base::Error);
}

std::string refusal(const std::filesystem::path& path) {
  try {
    read_npz(path);
  } catch (const base::Error& error) {
    CHECK(error.message().find(path.string()) != std::string::npos);
    return error.message();
  }
  return "read";
}

TEST_CASE("objects_and_compressed_archives_are_refused") {
  CHECK(refusal(kData / "objects.npz").find("\"|O\" are not read") != std::string::npos);
  CHECK(refusal(kData / "compressed.npz").find("is compressed") != std::string::npos);
}

TEST_CASE("damaged_arrays_are_refused_with_a_reason") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& header, size_t data_bytes) {
    std::string npy =
        std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + std::string(1, '\0') + header;
    StoredZipWriter zip(folder / "x.npz");
    zip.add("x.npy", npy + std::string(data_bytes, '\0'));
    zip.commit();
    return refusal(folder / "x.npz");
  };
  CHECK(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8) == "read");
  CHECK(with("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 8).find("asks for 12 bytes") !=
        std::string::npos);
  CHECK(with("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", 8).find("are not read") !=
        std::string::npos);
  for (const char* header :
       {"", "{", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'code': 'x'}"}) {
    CAPTURE(header);
    CHECK(with(header, 8).find("header") != std::string::npos);
  }
  CHECK(with("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }", 8) !=
        "read");
  const std::string whole = base::read_file(kData / "numpy.npz");
  for (const size_t bytes : {size_t{0}, size_t{40}, whole.size() / 2, whole.size() - 1}) {
    CHECK(refusal(folder.put("cut.npz", whole.substr(0, bytes))) != "read");
  }
}

}  // namespace
}  // namespace cinnabar::formats
