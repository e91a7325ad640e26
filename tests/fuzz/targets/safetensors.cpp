#include "cinnabar/formats/safetensors_reader.h"
#include "fuzz/fuzz_target.h"

using namespace cinnabar;

CINNABAR_FUZZ_TARGET(safetensors, 4096) {
  const formats::SafetensorsContent content = formats::parse_safetensors(input, "model.safetensors");
  uint64_t covered = 0;
  for (const auto& [name, view] : content.tensors) {
    uint64_t bytes = formats::element_size(view.dtype);
    for (const int64_t size : view.shape) {
      fuzz::require(size >= 0, "no dimension is negative");
      bytes *= static_cast<uint64_t>(size);
    }
    fuzz::require(view.bytes.size() == bytes, "a tensor has the bytes of its shape");
    const bool is_inside = view.bytes.empty() || (view.bytes.data() >= input.data() + content.data_begin &&
                                                  view.bytes.data() + bytes <= input.data() + input.size());
    fuzz::require(is_inside, "a tensor lies in the data of its file");
    covered += bytes;
  }
  fuzz::require(content.data_begin + covered == input.size(), "every byte of the data belongs to one tensor");
}
