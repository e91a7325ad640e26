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

// Null without cache_latents and cache_latents_to_disk. On disk they lie in train_data_dir/.cinnabar-cache. Throws
// Error{Cancelled} when stopped; what was made is kept.
std::unique_ptr<data::LatentCache> cached_latents(const CacheRequest& request);

// With a frozen text encoder (`is_trained` false) and captions that do not vary, everything is encoded here.
std::unique_ptr<TextStates> cached_text(const CacheRequest& request, bool is_trained);

}  // namespace cinnabar::train
