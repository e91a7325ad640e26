// The settings of a picture as one text, in the form that AUTOMATIC1111's web UI writes into PNG files and reads back
// (no torch).
#pragma once

#include <string>
#include <vector>

#include "cinnabar/sample/request.h"

namespace cinnabar::sample {

struct LoraUse {
  std::string name;  // file name without extension
  double weight = 1.0;
  std::string hash{};  // first 12 hex digits of sshs_model_hash; empty: not told
};

// What the pictures of a run have in common.
struct PictureFacts {
  std::string model_name{};  // file name without extension
  std::string model_hash{};  // first 10 hex digits of the file's SHA-256; empty: not told
  int64_t clip_skip = 1;
  bool has_karras_sigmas = false;
  std::vector<LoraUse> loras{};
};

// The prompt (with "<lora:name:weight>" for each LoRA), the negative prompt, and "Steps: 30, Sampler: Euler a, ...".
std::string parameters_text(const SampleRequest& request, const PictureFacts& facts);

// Whether the sampler knows karras_sigmas.
bool takes_karras_sigmas(const std::string& sampler);

}  // namespace cinnabar::sample
