#include "cinnabar/base/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "cinnabar/base/error.h"
#include "cinnabar/base/mapped_file.h"
#include "cinnabar/base/mapped_pages.h"

namespace cinnabar::base {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  CINNABAR_ASSERT(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  CINNABAR_ASSERT(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

void Sha256::update(std::string_view text) { update(std::as_bytes(std::span(text.data(), text.size()))); }

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  unsigned int length = 0;
  CINNABAR_ASSERT(EVP_DigestFinal_ex(context_->evp, digest.data(), &length) == 1 && length == digest.size());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex();
}

std::string sha256_hex_of_file(const std::filesystem::path& path) {
  // What was hashed leaves memory, so that reading a model once does not make the process large.
  constexpr size_t kPieceBytes = size_t{64} << 20U;
  const MappedFile file(path);
  Sha256 hash;
  for (std::span<const std::byte> rest = file.bytes(); !rest.empty();) {
    const std::span<const std::byte> piece = rest.first(std::min(kPieceBytes, rest.size()));
    hash.update(piece);
    drop_pages(piece);
    rest = rest.subspan(piece.size());
  }
  return hash.hex();
}

}  // namespace cinnabar::base
