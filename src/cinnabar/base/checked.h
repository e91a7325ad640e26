// Arithmetic on sizes and offsets that come from files: overflow is an error, never a wrap.
#pragma once

#include <cstdint>

#include "cinnabar/base/error.h"

namespace cinnabar::base {

// Throw Error{Format} on overflow.
inline uint64_t checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Error(ErrorCode::Format, "a size in the file overflows 64 bits");
  return sum;
}

inline uint64_t checked_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw Error(ErrorCode::Format, "a size in the file overflows 64 bits");
  return product;
}

}  // namespace cinnabar::base
