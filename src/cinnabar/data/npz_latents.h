// Latent caches of sd-scripts (.npz beside the picture): SD and SDXL, one size a file.
#pragma once

#include <filesystem>
#include <string>

#include <ATen/core/Tensor.h>

#include "cinnabar/base/error.h"
#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// What a run does with such files.
struct NpzRule {
  bool reads = false;   // read_npz
  bool writes = false;  // write_npz
  std::string suffix = "_sd.npz";
  int64_t channels = 4;   // of the latents
  int64_t downscale = 8;  // pixels a latent
};

// sd-scripts' names: NAME.npz if there is one, else NAME_WWWWxHHHH and the suffix, with the size of the picture.
std::filesystem::path npz_path(const Sample& sample, const std::string& suffix);

// h = height of the bucket / 8 and so on.
struct NpzLatents {
  at::Tensor latents;    // [C, h, w] fp32: drawn from the posterior once, not scaled
  at::Tensor flipped{};  // the same of the mirrored picture
  at::Tensor mask{};     // [H, W] in 0..1
};

struct NpzRequest {
  const Sample& sample;
  bool wants_flipped = false;
  bool wants_mask = false;
  int64_t channels = 0;  // 0: any
  int64_t downscale = 8;
};

// Error{Data} that says what does not fit: the file, an array that is missing, another size or bucket, values that are
// not finite, or that the picture is newer than the file. What it cannot see is another VAE and a changed picture with
// an old date, since such files do not say what they were made from.
base::Result<NpzLatents> read_npz_latents(const std::filesystem::path& path, const NpzRequest& request);

// Atomic. Other arrays of an existing file are kept, as sd-scripts does. Throws Error{Io} or Error{OutOfSpace}.
void write_npz_latents(const std::filesystem::path& path, const Sample& sample, const NpzLatents& latents);

}  // namespace cinnabar::data
