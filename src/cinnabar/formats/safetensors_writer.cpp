#include "cinnabar/formats/safetensors_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/checked.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/safetensors_header.h"

namespace cinnabar::formats {

namespace {

using base::Error;
using base::ErrorCode;

// Place of a dtype in the reference library's list, which it writes from the end.
int file_rank(Dtype dtype) {
  switch (dtype) {
    case Dtype::I64:
      return 0;
    case Dtype::F64:
      return 1;
    case Dtype::F32:
      return 2;
    case Dtype::I32:
      return 3;
    case Dtype::BF16:
      return 4;
    case Dtype::F16:
      return 5;
    case Dtype::I16:
      return 6;
    case Dtype::F8E4M3:
      return 7;
    case Dtype::F8E5M2:
      return 8;
    case Dtype::I8:
      return 9;
    case Dtype::U8:
      return 10;
    case Dtype::Bool:
      return 11;
  }
  return 12;
}

std::string json_text(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCode::Format,
                "cannot write " + quote_name(text) + " into a safetensors header: it is not UTF-8 text");
  }
}

std::string metadata_json(const Metadata& metadata) {
  std::string text = "{";
  for (const auto& [key, value] : metadata) {
    text += (text.size() > 1 ? "," : "") + json_text(key) + ":" + json_text(value);
  }
  return text + "}";
}

// Appends the entry of one tensor that begins at `offset`; returns where it ends.
uint64_t append_entry(const NamedTensor& tensor, uint64_t offset, std::string& json) {
  uint64_t bytes = element_size(tensor.view.dtype);
  std::string shape;
  for (const int64_t size : tensor.view.shape) {
    if (size < 0) throw Error(ErrorCode::Format, "tensor " + quote_name(tensor.name) + " has a negative dimension");
    bytes = base::checked_mul(bytes, static_cast<uint64_t>(size));
    shape += (shape.empty() ? "" : ",") + std::to_string(size);
  }
  if (bytes != tensor.view.bytes.size()) {
    throw Error(ErrorCode::Format, "tensor " + quote_name(tensor.name) + " has " +
                                       std::to_string(tensor.view.bytes.size()) + " bytes, its shape and dtype need " +
                                       std::to_string(bytes));
  }
  const uint64_t end = base::checked_add(offset, bytes);
  json += (json.size() > 1 ? "," : "") + json_text(tensor.name) + ":{\"dtype\":\"" +
          std::string(to_string(tensor.view.dtype)) + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
          std::to_string(offset) + "," + std::to_string(end) + "]}";
  return end;
}

}  // namespace

SafetensorsImage::SafetensorsImage(std::vector<NamedTensor> tensors, const std::optional<Metadata>& metadata)
    : tensors_(std::move(tensors)) {
  std::sort(tensors_.begin(), tensors_.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return std::make_tuple(file_rank(a.view.dtype), std::string_view(a.name)) <
           std::make_tuple(file_rank(b.view.dtype), std::string_view(b.name));
  });
  std::string json = "{";
  if (metadata) json += "\"__metadata__\":" + metadata_json(*metadata);
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors_) offset = append_entry(tensor, offset, json);
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');

  std::vector<std::string_view> names{"__metadata__"};
  for (const NamedTensor& tensor : tensors_) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto repeated = std::adjacent_find(names.begin(), names.end());
  if (repeated != names.end()) {
    throw Error(ErrorCode::Format,
                "cannot write two entries with the name " + quote_name(*repeated) + " into one safetensors file");
  }

  for (size_t i = 0; i < 8; ++i) head_ += static_cast<char>((json.size() >> (8 * i)) & 0xff);
  head_ += json;
  size_bytes_ = base::checked_add(head_.size(), offset);
}

void SafetensorsImage::for_each_block(const std::function<void(std::span<const std::byte>)>& use) const {
  use(std::as_bytes(std::span(head_)));
  for (const NamedTensor& tensor : tensors_) use(tensor.view.bytes);
}

void write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const SafetensorsImage image(std::move(tensors), metadata.empty() ? std::nullopt : std::optional<Metadata>(metadata));
  base::AtomicFile file(path);
  image.for_each_block([&](std::span<const std::byte> block) { file.write(block); });
  file.commit();
}

}  // namespace cinnabar::formats
