// Latents of a data set's pictures, made once by the autoencoder and kept in memory or on disk.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/data/content_hash.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/data/tensor_cache.h"

namespace cinnabar::data {

// [3, H, W] in [-1, 1] of a sample, resized and cut to its bucket. Throws Error{Data}.
at::Tensor sample_pixels(const Sample& sample, const DatasetOptions& options, bool is_flipped);

struct LatentFill {
  int64_t batch = 1;                                               // pictures encoded at a time (vae_batch_size)
  size_t threads = 2;                                              // that read and resize pictures
  std::function<at::Tensor(const at::Tensor&)> encode;             // [B, 3, H, W] -> moments [B, 2 C, h, w]
  std::function<void(int64_t done, int64_t total)> progress = {};  // after each batch
  std::function<bool()> is_stopped = {};
};

class LatentCache {
 public:
  // `folder` empty: in memory. `model_hash` names the autoencoder: latents of another one are never used.
  LatentCache(const std::filesystem::path& folder, std::string model_hash);

  // Encodes what is missing, pictures of one bucket together; flipped ones too where the subset asks. Returns false
  // when stopped early (what was made is kept).
  bool fill(const Dataset& dataset, const LatentFill& fill);
  // Moments [2 C, h, w] of the posterior (mean and log variance), fp32.
  at::Tensor moments(const Dataset& dataset, size_t sample, bool is_flipped) const;
  const std::vector<std::string>& problems() const { return store_.problems(); }

 private:
  std::string key(const Sample& sample, const DatasetOptions& options);

  TensorCache store_;
  ContentHashes hashes_;
  std::string model_hash_;
  std::unordered_map<std::string, std::string> keys_;  // path and bucket -> key
};

}  // namespace cinnabar::data
