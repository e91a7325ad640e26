// Writes safetensors files as the reference library orders them: by descending dtype width, then by name.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::formats {

struct NamedTensor {
  std::string name;
  TensorView view;
};

using Metadata = std::map<std::string, std::string>;

// A safetensors file as it will lie on disk, without a file: for hashing and for writing. The views must outlive it.
// Equal byte by byte to what the reference library (safetensors 0.8) writes, but for the order of metadata keys, which
// is alphabetical here and random there. Without `metadata` the header has no "__metadata__"; empty metadata gives {}.
class SafetensorsImage {
 public:
  // Throws Error{Format} for a repeated or reserved name, text that is not UTF-8, or bytes that do not fit the shape.
  SafetensorsImage(std::vector<NamedTensor> tensors, const std::optional<Metadata>& metadata);

  // Length field and header with its padding.
  const std::string& head() const { return head_; }
  // In file order.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  uint64_t size_bytes() const { return size_bytes_; }
  // Head, then the tensors, in file order.
  void for_each_block(const std::function<void(std::span<const std::byte>)>& use) const;

 private:
  std::vector<NamedTensor> tensors_;
  std::string head_;
  uint64_t size_bytes_ = 0;
};

// Atomic. Throws Error{Format} as SafetensorsImage does, Error{Io} or Error{OutOfSpace}. Empty metadata is left out.
void write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace cinnabar::formats
