// Block-wise 8-bit codes over plain memory (no torch): each block of elements has a scale, its largest absolute value,
// and each element a byte that stands for one of 256 levels (Dettmers et al. 2022, "8-bit optimizers via block-wise
// quantization", section 2; dynamic tree levels, appendix F).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace cinnabar::optim {

constexpr int64_t kCodeBlock = 256;  // elements that share a scale

// The levels of one kind of state in rising order from -1 (or 0) to 1, and what finds the nearest one.
struct CodeLevels {
  std::array<float, 256> level{};
  // A value belongs to level i + 1 or above when it is larger than threshold[i]; the last is infinite. Halfway between
  // two levels counts to the lower one.
  std::array<float, 256> threshold{};
  // By the upper 16 bits of a float: the nearest level of the smallest value with these bits.
  std::vector<uint8_t> first;
};
const CodeLevels& signed_levels();    // for means of the gradient
const CodeLevels& unsigned_levels();  // for means of its square

// `scales` has one number for each begun block of `block` elements. Values that are not finite give undefined codes.
void quantize_blocks(const float* values, int64_t count, int64_t block, const CodeLevels& levels, uint8_t* codes,
                     float* scales);
void dequantize_blocks(const uint8_t* codes, const float* scales, int64_t count, int64_t block,
                       const CodeLevels& levels, float* values);

}  // namespace cinnabar::optim
