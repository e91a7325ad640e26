// Dropout whose masks are a function of a key, so that a recomputed forward pass, another batch split or a resumed run
// draws the same ones (design.md 1.6).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace cinnabar::nn {

// Names the draws of one forward pass. Set by the training loop around each micro-batch.
struct DropoutKey {
  uint64_t seed = 0;
  uint64_t step = 0;                // optimizer step
  std::vector<uint64_t> samples{};  // one per row of the batch: which sample of the step, or of the data set, it is
};

// The key of this thread while the scope lives; scopes nest. Checkpointed parts take the key of the forward pass along,
// so that it is in force again when they are recomputed in the backward pass, whichever thread runs that.
class DropoutScope {
 public:
  explicit DropoutScope(DropoutKey key);
  explicit DropoutScope(std::shared_ptr<const DropoutKey> key);
  ~DropoutScope();
  DropoutScope(const DropoutScope&) = delete;
  DropoutScope& operator=(const DropoutScope&) = delete;

 private:
  std::shared_ptr<const DropoutKey> before_;
};

// Null outside of all scopes.
std::shared_ptr<const DropoutKey> current_dropout_key();

// One number in [0, 1) per row, for decisions that concern a whole layer (module dropout). `layer` and `salt` tell
// draws of one pass apart; use tensor::name_key of the layer's name. Throws Error{Internal} outside of a scope.
std::vector<double> keyed_uniforms(int64_t rows, uint64_t layer, uint64_t salt = 0);
// Keep mask [rows, ...] of ones and zeros in fp32: an element is 0 with probability `p`. `shape`[0] is the batch (or a
// multiple of it: chunks of one sample follow each other).
at::Tensor keyed_mask(at::IntArrayRef shape, double p, uint64_t layer, uint64_t salt = 0);
// x times the mask, divided by 1 - p. p = 0 gives x itself, p = 1 zeros.
at::Tensor keyed_dropout(const at::Tensor& x, double p, uint64_t layer, uint64_t salt = 0);

}  // namespace cinnabar::nn
