// SHA-256 of byte streams (libcrypto).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cinnabar::base {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // 64 lower-case hex digits; the object is used up.
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view text);
// Throws Error{Io} when the file cannot be read.
std::string sha256_hex_of_file(const std::filesystem::path& path);

}  // namespace cinnabar::base
