#include "cinnabar/formats/adapter_hashes.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "cinnabar/base/error.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/formats/safetensors_reader.h"

namespace cinnabar::formats {

namespace {

constexpr uint64_t kLegacyBegin = 0x100000;
constexpr uint64_t kLegacyBytes = 0x10000;
constexpr size_t kLegacyDigits = 8;

std::ifstream open_to_hash(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(path)) {
    throw base::Error(base::ErrorCode::Io, "cannot read " + path.string() + " to compute its hash: no such file");
  }
  return in;
}

}  // namespace

std::string sshs_model_hash(const std::vector<NamedTensor>& tensors) {
  const SafetensorsImage image(tensors, std::nullopt);
  base::Sha256 hash;
  for (const NamedTensor& tensor : image.tensors()) hash.update(tensor.view.bytes);
  return hash.hex();
}

std::string sshs_legacy_hash(const std::vector<NamedTensor>& tensors, const Metadata& metadata) {
  Metadata training;
  for (const auto& [key, value] : metadata) {
    if (key.starts_with("ss_")) training.emplace(key, value);
  }
  const SafetensorsImage image(tensors, training);
  base::Sha256 hash;
  uint64_t begin = 0;  // of the block, in the file
  image.for_each_block([&](std::span<const std::byte> block) {
    const uint64_t end = begin + block.size();
    const uint64_t from = std::clamp(kLegacyBegin, begin, end);
    const uint64_t to = std::clamp(kLegacyBegin + kLegacyBytes, begin, end);
    hash.update(block.subspan(from - begin, to - from));
    begin = end;
  });
  return hash.hex().substr(0, kLegacyDigits);
}

std::string legacy_hash_of_file(const std::filesystem::path& path) {
  std::ifstream in = open_to_hash(path);
  in.seekg(static_cast<std::streamoff>(kLegacyBegin));
  std::string bytes(kLegacyBytes, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return base::sha256_hex(bytes).substr(0, kLegacyDigits);
}

std::string data_hash_of_file(const std::filesystem::path& path) {
  std::ifstream in = open_to_hash(path);
  std::array<unsigned char, 8> length{};
  in.read(reinterpret_cast<char*>(length.data()), length.size());
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < 8; ++i) header_bytes |= static_cast<uint64_t>(length[i]) << (8 * i);
  if (!in || header_bytes > kMaxHeaderBytes) {
    throw base::Error(base::ErrorCode::Format,
                      path.string() + " is not a safetensors file; its data hash is not defined");
  }
  in.seekg(static_cast<std::streamoff>(8 + header_bytes));
  base::Sha256 hash;
  std::string block(1 << 20, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    hash.update(std::string_view(block).substr(0, static_cast<size_t>(in.gcount())));
  }
  return hash.hex();
}

}  // namespace cinnabar::formats
