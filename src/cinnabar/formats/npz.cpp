// Source: numpy's description of the format (numpy.lib.format), versions 1.0 to 3.0.
#include "cinnabar/formats/npz.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/safetensors_header.h"
#include "cinnabar/formats/zip_reader.h"
#include "cinnabar/formats/zip_writer.h"

namespace cinnabar::formats {

namespace {

using base::Error;
using base::ErrorCode;
using Bytes = std::span<const std::byte>;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kEnding = ".npy";
constexpr uint64_t kMaxNpyHeaderBytes = 65536;
constexpr size_t kMaxNpyDimensions = 32;
constexpr size_t kHeaderAlignment = 64;

constexpr std::array<std::pair<std::string_view, Dtype>, 9> kTypes = {{{"<f8", Dtype::F64},
                                                                       {"<f4", Dtype::F32},
                                                                       {"<f2", Dtype::F16},
                                                                       {"<i8", Dtype::I64},
                                                                       {"<i4", Dtype::I32},
                                                                       {"<i2", Dtype::I16},
                                                                       {"|i1", Dtype::I8},
                                                                       {"|u1", Dtype::U8},
                                                                       {"|b1", Dtype::Bool}}};

struct NpyHeader {
  std::string descr;
  std::optional<bool> is_column_major;
  std::optional<std::vector<int64_t>> shape;
};

// The dictionary of an .npy header: three keys, whose values are a text, True or False, and a tuple of whole numbers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string title) : text_(text), title_(std::move(title)) {}

  NpyHeader parse() {
    NpyHeader header;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && header.descr.empty()) {
        header.descr = quoted();
      } else if (key == "fortran_order" && !header.is_column_major) {
        header.is_column_major = truth();
      } else if (key == "shape" && !header.shape) {
        header.shape = tuple();
      } else {
        refuse("its header has the key " + quote_name(key) + ", which is unknown or there twice");
      }
      if (take('}')) break;
      expect(',');
    }
    skip_blanks();
    if (at_ != text_.size()) refuse("its header goes on after its end");
    if (header.descr.empty() || !header.is_column_major || !header.shape) refuse("its header lacks a key");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::Format, title_ + ": " + what, "bad_header");
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(std::string("its header is not a dictionary as numpy writes it: expected ") + c);
  }
  // Of an element type with fields the value is a list: refused here, since it does not begin with a quote.
  std::string quoted() {
    expect('\'');
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) refuse("its header has a text without end");
    const std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  bool truth() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    refuse("its header has a fortran_order that is neither True nor False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc{} || size < 0) refuse("its header has a shape that is no tuple of whole numbers");
      at_ = static_cast<size_t>(end - text_.data());
      sizes.push_back(size);
      if (sizes.size() > kMaxNpyDimensions) refuse("it has more than 32 dimensions");
      if (take(')')) break;
      expect(',');
    }
    return sizes;
  }

  std::string_view text_;
  std::string title_;
  size_t at_ = 0;
};

Dtype dtype_of(const std::string& descr, const std::string& title) {
  for (const auto& [name, dtype] : kTypes) {
    if (name == descr) return dtype;
  }
  throw Error(ErrorCode::Format,
              title + ": elements of the type " + quote_name(descr) +
                  " are not read; expected little-endian floats, integers, uint8 or bool",
              descr.find('O') != std::string::npos ? "objects" : "element_type");
}

// Column-major to row-major.
std::vector<std::byte> reordered(Bytes data, const std::vector<int64_t>& shape, size_t element) {
  std::vector<std::byte> result(data.size());
  std::vector<size_t> index(shape.size(), 0);
  std::vector<size_t> stride(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * static_cast<size_t>(shape[d - 1]);
  for (size_t out = 0; out < data.size(); out += element) {
    size_t from = 0;
    for (size_t d = 0; d < shape.size(); ++d) from += index[d] * stride[d];
    std::memcpy(result.data() + out, data.data() + from * element, element);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < static_cast<size_t>(shape[d])) break;
      index[d] = 0;
    }
  }
  return result;
}

NpyArray read_npy(Bytes file, const std::string& title) {
  const auto refuse = [&](const std::string& what) -> Error {
    return {ErrorCode::Format, title + ": " + what, "bad_array"};
  };
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < 10 || !text.starts_with(kMagic)) throw refuse("it does not begin as an array of numpy does");
  const auto byte = [&](size_t i) { return std::to_integer<uint64_t>(file[i]); };
  const uint64_t version = byte(6);
  if (version < 1 || version > 3) throw refuse("its format version " + std::to_string(version) + " is not known");
  const size_t start = version == 1 ? 10 : 12;
  if (text.size() < start) throw refuse("its header is cut off");
  uint64_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxNpyHeaderBytes || length > file.size() - start) throw refuse("its header is cut off or too long");
  const NpyHeader header = HeaderParser(text.substr(start, length), title).parse();
  NpyArray array{.dtype = dtype_of(header.descr, title), .shape = *header.shape, .bytes = {}};
  uint64_t expected = element_size(array.dtype);
  // Strides are products of the dimensions with 1 in the place of 0, and must fit a signed number as well.
  auto strides = static_cast<int64_t>(expected);
  for (const int64_t size : array.shape) {
    if (__builtin_mul_overflow(expected, static_cast<uint64_t>(size), &expected) ||
        __builtin_mul_overflow(strides, std::max<int64_t>(size, 1), &strides))
      throw refuse("its shape is too large");
  }
  const Bytes data = file.subspan(start + length);
  if (data.size() != expected) {
    throw refuse("its shape asks for " + std::to_string(expected) + " bytes, it has " + std::to_string(data.size()));
  }
  const bool is_bad_boolean = array.dtype == Dtype::Bool && std::any_of(data.begin(), data.end(), [](std::byte b) {
                                return std::to_integer<unsigned>(b) > 1;
                              });
  if (is_bad_boolean) throw refuse("it is boolean, but has bytes other than 0 and 1");
  if (*header.is_column_major && array.shape.size() > 1) {
    array.bytes = reordered(data, array.shape, element_size(array.dtype));
  } else {
    array.bytes.assign(data.begin(), data.end());
  }
  return array;
}

std::string npy_header(const NpyArray& array, const std::string& title) {
  std::string_view descr;
  for (const auto& [name, dtype] : kTypes) {
    if (dtype == array.dtype) descr = name;
  }
  if (descr.empty()) {
    throw Error(ErrorCode::Format,
                title + ": numpy has no elements of the type " + std::string(to_string(array.dtype)));
  }
  std::string shape;
  for (const int64_t size : array.shape) shape += std::to_string(size) + (array.shape.size() == 1 ? "," : ", ");
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const size_t start = kMagic.size() + 4;
  header.append(kHeaderAlignment - (start + header.size() + 1) % kHeaderAlignment, ' ');
  header += '\n';
  std::string result(kMagic);
  result += '\1';
  result += '\0';
  result += static_cast<char>(header.size() & 0xFF);
  result += static_cast<char>(header.size() >> 8);
  return result + header;
}

}  // namespace

NpzArrays read_npz(const std::filesystem::path& path, uint64_t max_bytes) {
  const std::string file = base::read_file(path, max_bytes);
  return read_npz(std::as_bytes(std::span(file)), path.string());
}

NpzArrays read_npz(Bytes file, const std::string& where) {
  NpzArrays arrays;
  for (const auto& [name, content] : read_stored_zip(file, where)) {
    const std::string title = where + ": array " + quote_name(name);
    if (!name.ends_with(kEnding)) throw Error(ErrorCode::Format, title + ": its name does not end in .npy", "bad_name");
    arrays.emplace(name.substr(0, name.size() - kEnding.size()), read_npy(content, title));
  }
  return arrays;
}

void write_npz(const std::filesystem::path& path, const NpzArrays& arrays) {
  StoredZipWriter zip(path);
  for (const auto& [name, array] : arrays) {
    std::string content = npy_header(array, path.string() + ": array " + quote_name(name));
    content.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
    zip.add(name + std::string(kEnding), content);
  }
  zip.commit();
}

}  // namespace cinnabar::formats
