// Memory for the weights of a model on the CPU: one block for many tensors.
#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

namespace cinnabar::tensor {

// Goes back to the system as one piece when the last of its tensors is gone. Large pages are not asked for: on a
// virtual machine that gives free memory back to its host, the first touch of 3.4 GB took 4.3 to 8.3 s of the processor
// in large pages and 1.5 to 2.0 s in small ones.
class WeightMemory {
 public:
  // Throws Error{OutOfMemory}. Nothing is taken from the system before it is written to.
  explicit WeightMemory(uint64_t bytes);

  // The next part of the block, not initialised; of four dimensions also channels last. Error{Internal} when it is used
  // up.
  at::Tensor take(at::IntArrayRef shape, at::ScalarType dtype, at::MemoryFormat format = at::MemoryFormat::Contiguous);
  // What a tensor of that many bytes takes of the block.
  static uint64_t taken_by(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  static constexpr uint64_t kAlignment = 64;  // bytes: a line of the cache, and the widest vector
  struct Block;

  std::shared_ptr<Block> block_;
  uint64_t used_ = 0;
};

}  // namespace cinnabar::tensor
