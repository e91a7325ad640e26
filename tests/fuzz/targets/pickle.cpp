#include "cinnabar/formats/pickle_reader.h"
#include "fuzz/fuzz_target.h"

using namespace cinnabar;

CINNABAR_FUZZ_TARGET(pickle, 4096) {
  const auto tensors = formats::read_pickled_tensors(input, "model.ckpt");
  fuzz::require(!tensors.empty(), "a pickle without tensors is refused");
  for (const auto& [name, tensor] : tensors) {
    fuzz::require(tensor.shape.size() == tensor.strides.size(), "a stride for each dimension");
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      fuzz::require(tensor.shape[i] >= 0 && tensor.strides[i] >= 0, "no size is negative");
    }
  }
}
