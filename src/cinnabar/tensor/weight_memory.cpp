#include "cinnabar/tensor/weight_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <ATen/ops/from_blob.h>

#include "cinnabar/base/checked.h"
#include "cinnabar/base/error.h"

namespace cinnabar::tensor {

struct WeightMemory::Block {
  std::byte* data = nullptr;
  uint64_t size = 0;

  explicit Block(uint64_t bytes) : size(bytes) {
    if (bytes == 0) return;
    void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) {
      throw base::Error(base::ErrorCode::OutOfMemory,
                        "no memory for " + std::to_string(bytes >> 20U) + " MiB of weights: " + std::strerror(errno));
    }
    data = static_cast<std::byte*>(address);
  }
  ~Block() {
    if (data != nullptr) ::munmap(data, size);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
};

WeightMemory::WeightMemory(uint64_t bytes) : block_(std::make_shared<Block>(bytes)) {}

at::Tensor WeightMemory::take(at::IntArrayRef shape, at::ScalarType dtype, at::MemoryFormat format) {
  uint64_t bytes = c10::elementSize(dtype);
  for (const int64_t side : shape) bytes = base::checked_mul(bytes, static_cast<uint64_t>(side));
  CINNABAR_ASSERT(taken_by(bytes) <= block_->size - used_);
  std::byte* place = block_->data + used_;
  used_ += taken_by(bytes);
  const auto release = [kept = block_](void*) mutable { kept.reset(); };
  const auto options = at::TensorOptions().dtype(dtype);
  if (format == at::MemoryFormat::Contiguous) return at::from_blob(place, shape, release, options);
  return at::from_blob(place, shape, c10::get_channels_last_strides_2d(shape), release, options);
}

}  // namespace cinnabar::tensor
