// Batches of an epoch, made ahead of the step that needs them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/base/prefetcher.h"
#include "cinnabar/data/batch_plan.h"
#include "cinnabar/data/caption.h"
#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

class LatentCache;
class PictureNotes;

struct LoadedBatch {
  Batch plan;
  std::vector<std::string> captions;  // processed, one an item
  at::Tensor moments;                 // [B, 2 C, h, w] with a latent cache
  at::Tensor pixels;                  // [B, 3, H, W] without one
  at::Tensor loss_weights;            // [B]
  at::Tensor masks;                   // [B, H, W] in 0..1 at the size of the pixels; undefined: no picture has one
  // Size conditioning of SDXL, fp32 in pixels; the numbers of sd-scripts (SizeNumbers in sample_picture.h).
  at::Tensor original_sizes;  // [B, 2] height, width of the upright picture
  at::Tensor crop_top_lefts;  // [B, 2] top, left; mirrored pictures have the left of the mirrored cut
  at::Tensor target_sizes;    // [B, 2] height, width of what is trained on
};

struct LoaderOptions {
  uint64_t seed = 0;
  uint64_t epoch = 1;        // from 1
  size_t first_batch = 0;    // batches of the epoch that are passed over (resume)
  int64_t steps_before = 0;  // optimizer steps done when the epoch began
  int64_t accumulation = 1;  // batches per step
  int64_t max_train_steps = 0;
  double prior_loss_weight = 1.0;  // of regularisation pictures
  size_t threads = 2;
  const LatentCache* latents = nullptr;
  // Gets what reading brings up. With it, a picture that can no longer be read is left out of its batch and named.
  PictureNotes* notes = nullptr;
};

// What it gives is a function of data sets, seed and epoch: not of threads.
class Loader {
 public:
  Loader(const std::vector<Dataset>& datasets, const LoaderOptions& options);
  bool has_next() const { return batches_->has_next(); }
  // Waits if need be. Throws Error{Io} or Error{Data} for a picture that can no longer be read when there are no notes,
  // else only when no picture at all can be read.
  LoadedBatch next() { return batches_->next(); }

 private:
  struct Parts;
  void add(const BatchItem& item, const Dataset& dataset, Parts& parts) const;
  void add_all(const Batch& batch, Parts& parts) const;
  LoadedBatch load(size_t index) const;

  const std::vector<Dataset>& datasets_;
  LoaderOptions options_;
  std::vector<Batch> plan_;
  std::unique_ptr<base::Prefetcher<LoadedBatch>> batches_;
};

}  // namespace cinnabar::data
