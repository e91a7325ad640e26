#include "cinnabar/tensor/device.h"

#include <charconv>
#include <limits>

#include "cinnabar/base/error.h"
#include "cinnabar/tensor/accelerator.h"

namespace cinnabar::tensor {

namespace {

// N of "gpu:N"; -1 when it is no number.
int64_t number_of(const std::string& word) {
  int64_t number = -1;
  const char* end = word.data() + word.size();
  const auto [read, error] = std::from_chars(word.data() + 4, end, number);
  return error == std::errc{} && read == end ? number : -1;
}

at::Device gpu(const std::string& word, int64_t index) {
  const int64_t count = accelerator_count();
  if (index >= count) {
    const std::string found =
        count == 0 ? "this libtorch sees no GPU" : "there are " + std::to_string(count) + ", counted from 0";
    throw base::Error(base::ErrorCode::Device, "device = \"" + word + "\": " + found +
                                                   "; look at the driver and at the libtorch that set-up brought, or "
                                                   "give --device cpu");
  }
  return accelerator(index);
}

}  // namespace

at::Device device_from(const std::string& word) {
  if (word == "cpu") return at::kCPU;
  if (word == "auto") return accelerator_count() > 0 ? gpu(word, 0) : at::Device(at::kCPU);
  if (word == "gpu") return gpu(word, 0);
  const int64_t index = word.starts_with("gpu:") ? number_of(word) : -1;
  if (index < 0 || index > std::numeric_limits<c10::DeviceIndex>::max()) {
    throw base::Error(base::ErrorCode::Config,
                      "device = \"" + word + "\": expected auto, cpu, gpu or gpu:N (for example gpu:1)");
  }
  return gpu(word, index);
}

}  // namespace cinnabar::tensor
