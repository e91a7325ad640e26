// Captions and prompts as token ids of one CLIP text encoder.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/text/clip_tokenizer.h"

namespace cinnabar::models::sd {

struct ClipRows {
  at::Tensor ids;      // int64 [B, chunks, 77]
  at::Tensor weights;  // fp32, like ids; undefined when all are 1
};

// Rows of options.max_token_length; with options.is_weighted "(word:1.2)" weighs words.
ClipRows caption_rows(const std::vector<std::string>& captions, const TextOptions& options, text::Padding padding);

// As many chunks as the longest prompt needs, options.max_token_length at least and 3 at most; always with weights.
ClipRows prompt_rows(const std::vector<std::string>& prompts, const TextOptions& options, text::Padding padding);

// Throws Error{Config} for a vocabulary smaller than CLIP's.
void require_clip_vocabulary(int64_t vocabulary);

}  // namespace cinnabar::models::sd
