// One picture to make (no torch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace cinnabar::sample {

// In pixels; sides are cut to multiples of the step.
inline constexpr int64_t kSmallestSide = 64;
inline constexpr int64_t kSideStep = 8;

struct SampleRequest {
  std::string prompt{};           // with A1111's weights: "(word:1.2)"
  std::string negative_prompt{};  // not looked at when scale is 1
  int64_t width_px = 0;           // 0: the model's own size
  int64_t height_px = 0;
  int64_t steps = 30;
  double scale = 7.5;  // classifier-free guidance; 1: the prompt alone
  uint64_t seed = 0;
  std::string sampler = "ddim";  // a name of samplers::entries()
  // By the place of the LoRA among the files of the run: weights that differ from the file's (lora_tags.h).
  std::map<size_t, double> lora_weights{};
};

}  // namespace cinnabar::sample
