#include "cinnabar/tensor/memory_error.h"

#include <c10/util/Exception.h>

#include <array>
#include <new>
#include <string_view>

#include "cinnabar/base/error.h"

namespace cinnabar::tensor {

bool is_out_of_memory(const std::exception& error) {
  if (const auto* own = dynamic_cast<const base::Error*>(&error)) return own->code() == base::ErrorCode::OutOfMemory;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  if (torch == nullptr) return false;
  // The CPU's allocator and some libraries below libtorch only say it in words.
  static constexpr std::array<std::string_view, 4> kWords = {"out of memory", "not enough memory",
                                                             "can't allocate memory", "ALLOC_FAILED"};
  const std::string_view text = torch->what_without_backtrace();
  for (const std::string_view words : kWords) {
    if (text.find(words) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace cinnabar::tensor
