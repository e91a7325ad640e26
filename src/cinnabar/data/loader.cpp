#include "cinnabar/data/loader.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"
#include "cinnabar/data/latent_cache.h"
#include "cinnabar/data/picture_notes.h"
#include "cinnabar/data/sample_picture.h"

namespace cinnabar::data {

namespace {

// Rows of [B, 2].
at::Tensor pairs(const std::vector<float>& values) { return at::tensor(values).view({-1, 2}); }

}  // namespace

// Gathers the parts of a batch.
struct Loader::Parts {
  Batch plan;
  std::vector<std::string> captions;
  std::vector<at::Tensor> tensors;  // moments or pixels
  std::vector<at::Tensor> masks;    // undefined where a picture has none
  std::vector<float> weights;
  std::vector<float> original_sizes, crop_top_lefts, target_sizes;
};

Loader::Loader(const std::vector<Dataset>& datasets, const LoaderOptions& options)
    : datasets_(datasets), options_(options), plan_(plan_epoch(datasets, options.seed, options.epoch)) {
  const size_t first = std::min(options.first_batch, plan_.size());
  batches_ = std::make_unique<base::Prefetcher<LoadedBatch>>(
      plan_.size() - first, base::PrefetchOptions{.threads = options.threads, .ahead = options.threads + 1},
      [this, first](size_t index) { return load(first + index); });
}

void Loader::add(const BatchItem& item, const Dataset& dataset, Parts& parts) const {
  const Sample& sample = dataset.samples.at(item.sample);
  at::Tensor tensor, mask;
  SizeNumbers numbers;
  if (options_.latents != nullptr) {
    tensor = options_.latents->moments(dataset, item.sample, item.is_flipped);
    mask = options_.latents->mask(dataset, item.sample);
    if (mask.defined() && item.is_flipped) mask = mask.flip(1);
    numbers = size_numbers(sample, item.is_flipped);
  } else {
    const PreparedPicture prepared =
        prepare_picture(sample, dataset.options, {options_.seed, options_.epoch, item.item, item.is_flipped});
    if (options_.notes != nullptr) options_.notes->add(sample.path, prepared.picture.notes);
    tensor = at::empty({3, prepared.picture.height, prepared.picture.width}, at::kFloat);
    normalise_to(prepared.picture, {tensor.mutable_data_ptr<float>(), static_cast<size_t>(tensor.numel())});
    if (!prepared.mask.empty()) {
      mask = at::empty({prepared.picture.height, prepared.picture.width}, at::kByte);
      std::copy(prepared.mask.begin(), prepared.mask.end(), mask.mutable_data_ptr<uint8_t>());
    }
    numbers = prepared.numbers;
  }
  parts.plan.items.push_back(item);
  parts.tensors.push_back(tensor);
  parts.masks.push_back(mask.defined() ? mask.to(at::kFloat) / 255.0 : mask);
  parts.weights.push_back(sample.is_reg ? static_cast<float>(options_.prior_loss_weight) : 1.0F);
  const auto add_pair = [](std::vector<float>& to, int64_t first, int64_t second) {
    to.push_back(static_cast<float>(first));
    to.push_back(static_cast<float>(second));
  };
  add_pair(parts.original_sizes, numbers.original.height, numbers.original.width);
  add_pair(parts.crop_top_lefts, numbers.crop.top, numbers.crop.left);
  add_pair(parts.target_sizes, numbers.target.height, numbers.target.width);
}

void Loader::add_all(const Batch& batch, Parts& parts) const {
  const Dataset& dataset = datasets_.at(batch.dataset);
  parts.plan.dataset = batch.dataset;
  parts.plan.size = batch.size;
  for (const BatchItem& item : batch.items) {
    try {
      add(item, dataset, parts);
    } catch (const base::Error& error) {
      if (options_.notes == nullptr) throw;
      options_.notes->fault(dataset.samples.at(item.sample).path, error.message() + "; left out of its batches");
    }
  }
}

LoadedBatch Loader::load(size_t index) const {
  Parts parts;
  // A batch of which nothing can be read is replaced by the next one that can, so that the count of steps stays.
  for (size_t i = 0; i < plan_.size() && parts.plan.items.empty(); ++i) {
    add_all(plan_[(index + i) % plan_.size()], parts);
  }
  if (parts.plan.items.empty()) {
    throw base::Error(base::ErrorCode::Data, "no picture of the data sets can be read any more");
  }
  LoadedBatch batch;
  const Dataset& dataset = datasets_.at(parts.plan.dataset);
  const int64_t step = options_.steps_before + static_cast<int64_t>(index) / options_.accumulation;
  const CaptionMoment moment{static_cast<int64_t>(options_.epoch), step, options_.max_train_steps};
  for (const BatchItem& item : parts.plan.items) {
    const Sample& sample = dataset.samples.at(item.sample);
    StreamCaptionRandom random(options_.seed, options_.epoch, item.item);
    batch.captions.push_back(
        process_caption(sample.caption, dataset.options.subsets.at(sample.subset).caption, moment, {}, random));
  }
  const bool has_masks = std::ranges::any_of(parts.masks, [](const at::Tensor& mask) { return mask.defined(); });
  if (has_masks) {
    const Size size = parts.plan.size;
    for (at::Tensor& mask : parts.masks) {
      if (!mask.defined()) mask = at::ones({size.height, size.width});
    }
    batch.masks = at::stack(parts.masks);
  }
  (options_.latents != nullptr ? batch.moments : batch.pixels) = at::stack(parts.tensors);
  batch.loss_weights = at::tensor(parts.weights);
  batch.original_sizes = pairs(parts.original_sizes);
  batch.crop_top_lefts = pairs(parts.crop_top_lefts);
  batch.target_sizes = pairs(parts.target_sizes);
  batch.plan = std::move(parts.plan);
  return batch;
}

}  // namespace cinnabar::data
