#include "cinnabar/formats/npz.h"

#include "cinnabar/base/error.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/zip_repair.h"

using namespace cinnabar;

namespace {

void read_arrays(fuzz::Input file) {
  for (const auto& [name, array] : formats::read_npz(file, "latents.npz")) {
    uint64_t bytes = formats::element_size(array.dtype);
    for (const int64_t size : array.shape) {
      fuzz::require(size >= 0, "no dimension is negative");
      bytes *= static_cast<uint64_t>(size);
    }
    fuzz::require(array.bytes.size() == bytes, "an array has the bytes of its shape");
  }
}

}  // namespace

CINNABAR_FUZZ_TARGET(npz, 4096) {
  try {
    read_arrays(input);
  } catch (const base::Error&) {
    read_arrays(fuzz::with_checksums(input));
  }
}
