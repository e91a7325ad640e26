#include "cinnabar/train/cache_run.h"

#include <chrono>

#include "cinnabar/train/run_caches.h"
#include "cinnabar/train/run_data.h"

namespace cinnabar::train {

void run_cache(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop) {
  schema::Values on_disk = values;
  on_disk.set("cache_latents_to_disk", true);
  events.phase("Reading the data set");
  const std::vector<data::Dataset> datasets = scan_run_data(on_disk, events);
  // Only now: captions that change are no fault here, they are left to the training.
  on_disk.set("cache_text_encoder_outputs_to_disk", true);
  LoadedModel base = load_run_model(on_disk, events);
  const CacheRequest request{on_disk, datasets, base, events, stop};
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<data::LatentCache> latents = cached_latents(request);
  const double latents_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  base.model->release("vae");
  cached_text(request, false);
  int64_t pictures = 0;
  for (const data::Dataset& dataset : datasets) pictures += static_cast<int64_t>(dataset.samples.size());
  pictures -= static_cast<int64_t>(latents->faults().size());
  events.result({{"pictures", pictures},
                 {"encoded", latents->encoded()},
                 {"latents_s", latents_s},
                 {"encode_s", latents->encode_s()}});
}

}  // namespace cinnabar::train
