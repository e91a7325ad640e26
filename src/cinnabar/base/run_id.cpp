#include "cinnabar/base/run_id.h"

#include "cinnabar/base/sha256.h"

namespace cinnabar::base {

namespace {

constexpr size_t kDigits = 16;

}  // namespace

std::string run_id(const std::string& folder_name) {
  return sha256_hex("cinnabar run " + folder_name).substr(0, kDigits);
}

}  // namespace cinnabar::base
