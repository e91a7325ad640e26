// Latents and text states of a run's data, made before the loop that needs them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "cinnabar/data/latent_cache.h"
#include "cinnabar/train/loaded_model.h"
#include "cinnabar/train/text_states.h"

namespace cinnabar::train {

struct CacheRequest {
  const schema::Values& values;
  const std::vector<data::Dataset>& datasets;
  LoadedModel& base;
  base::EventSink& events;
  const std::atomic<bool>& stop;
};

// Threads that read pictures: max_data_loader_n_workers, at most one a core.
size_t loader_threads(const schema::Values& values);

// Null without cache_latents, cache_latents_to_disk, read_npz and write_npz. On disk they lie in
// train_data_dir/.cinnabar-cache. Samples that it finds faulty are named and must be taken out of the data sets before
// these are used with it (data::take_out_faulty). Throws Error{Cancelled} when stopped; what was made is kept.
std::unique_ptr<data::LatentCache> cached_latents(const CacheRequest& request);

// Takes the samples that `cache` found faulty out of both; held-out data sets that lose all of theirs disappear. Throws
// Error{Data} when nothing is left to train.
void leave_out_faulty(std::vector<data::Dataset>& datasets, std::vector<data::Dataset>& held_out,
                      const data::LatentCache& cache);

// With a frozen text encoder (`is_trained` false) and captions that do not vary, everything is encoded here.
std::unique_ptr<TextStates> cached_text(const CacheRequest& request, bool is_trained);

// Frees the text encoders when nothing will ask them any more: only the U-Net is trained, and no caption of
// `request.datasets` varies, so that cached_text has them all.
void release_text_encoders(const CacheRequest& request);

}  // namespace cinnabar::train
