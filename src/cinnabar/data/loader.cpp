#include "cinnabar/data/loader.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "cinnabar/data/latent_cache.h"

namespace cinnabar::data {

Loader::Loader(const std::vector<Dataset>& datasets, const LoaderOptions& options)
    : datasets_(datasets), options_(options), plan_(plan_epoch(datasets, options.seed, options.epoch)) {
  const size_t first = std::min(options.first_batch, plan_.size());
  batches_ = std::make_unique<base::Prefetcher<LoadedBatch>>(
      plan_.size() - first, base::PrefetchOptions{.threads = options.threads, .ahead = options.threads + 1},
      [this, first](size_t index) { return load(first + index); });
}

LoadedBatch Loader::load(size_t index) const {
  LoadedBatch batch;
  batch.plan = plan_.at(index);
  const Dataset& dataset = datasets_.at(batch.plan.dataset);
  const int64_t step = options_.steps_before + static_cast<int64_t>(index) / options_.accumulation;
  const CaptionMoment moment{static_cast<int64_t>(options_.epoch), step, options_.max_train_steps};
  std::vector<at::Tensor> tensors;
  std::vector<float> weights;
  for (const BatchItem& item : batch.plan.items) {
    const Sample& sample = dataset.samples.at(item.sample);
    StreamCaptionRandom random(options_.seed, options_.epoch, item.item);
    batch.captions.push_back(
        process_caption(sample.caption, dataset.options.subsets.at(sample.subset).caption, moment, {}, random));
    tensors.push_back(options_.latents != nullptr ? options_.latents->moments(dataset, item.sample, item.is_flipped)
                                                  : sample_pixels(sample, dataset.options, item.is_flipped));
    weights.push_back(sample.is_reg ? static_cast<float>(options_.prior_loss_weight) : 1.0F);
  }
  (options_.latents != nullptr ? batch.moments : batch.pixels) = at::stack(tensors);
  batch.loss_weights = at::tensor(weights);
  return batch;
}

}  // namespace cinnabar::data
