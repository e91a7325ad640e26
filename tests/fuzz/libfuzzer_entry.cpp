// What libFuzzer calls. Each fuzz program links one target.
#include <cstdint>

#include "fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cinnabar::fuzz::run_input(cinnabar::fuzz::targets().front(), std::as_bytes(std::span(data, size)));
  return 0;
}
