#include "cinnabar/formats/torch_file.h"
#include "cinnabar/base/error.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/memory_file.h"
#include "fuzz/zip_repair.h"

using namespace cinnabar;

namespace {

void read_pickle(fuzz::Input file) {
  const auto checkpoint = formats::open_torch_file(fuzz::memory_file(file));
  unsigned sum = 0;
  for (const auto& [name, view] : checkpoint->tensors()) {
    uint64_t bytes = formats::element_size(view.dtype);
    for (const int64_t size : view.shape) bytes *= static_cast<uint64_t>(size);
    fuzz::require(view.bytes.size() == bytes, "a tensor has the bytes of its shape");
    for (const std::byte byte : view.bytes) sum += std::to_integer<unsigned>(byte);
  }
  [[maybe_unused]] const volatile unsigned used = sum;
}

}  // namespace

CINNABAR_FUZZ_TARGET(torch_file, 8192) {
  try {
    read_pickle(input);
  } catch (const base::Error&) {
    read_pickle(fuzz::with_checksums(input));
  }
}
