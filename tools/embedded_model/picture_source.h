// Training pictures of the embedded autoencoder: emoji and simple shapes on coloured backgrounds.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/base/random_stream.h"

namespace cinnabar::embedded {

class PictureSource {
 public:
  // Reads emoji.safetensors as tools/embedded_model/make_pictures.py writes it.
  explicit PictureSource(const std::string& path);

  int64_t subject_count() const { return static_cast<int64_t>(subjects_.size()); }
  static constexpr int64_t kBackgrounds = 10;

  // [3, 64, 64] in [-1, 1].
  at::Tensor subject(int64_t index, int64_t background) const;
  // Emoji number `index` of all on a background; for the check set.
  at::Tensor emoji(int64_t index, int64_t background) const;
  // Half of them subjects, half any emoji, moved, flipped and recoloured, or plain shapes.
  at::Tensor random(base::RandomStream& random) const;

 private:
  at::Tensor augmented(base::RandomStream& random) const;

  std::vector<at::Tensor> sizes_;  // 46, 52, 58: uint8 [N, 64, 64, 4], colour premultiplied by alpha
  std::vector<int64_t> subjects_;
};

}  // namespace cinnabar::embedded
