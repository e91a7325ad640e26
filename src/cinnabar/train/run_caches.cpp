#include "cinnabar/train/run_caches.h"

#include <algorithm>
#include <thread>

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/data/caption.h"

namespace cinnabar::train {

namespace {

std::filesystem::path cache_folder(const schema::Values& values) {
  return base::resolved(values.text("train_data_dir"), "embedded/pictures") / ".cinnabar-cache";
}

models::TextOptions text_options(const schema::Values& values) {
  return {values.maybe_integer("max_token_length").value_or(75), values.maybe_integer("clip_skip").value_or(0)};
}

// The captions of all samples, or nothing when an option makes them differ from one draw to the next.
std::vector<std::string> fixed_captions(const std::vector<data::Dataset>& datasets) {
  std::vector<std::string> captions;
  for (const data::Dataset& dataset : datasets) {
    for (const data::Sample& sample : dataset.samples) {
      const data::CaptionOptions& options = dataset.options.subsets.at(sample.subset).caption;
      if (!data::varying_caption_options(options).empty()) return {};
      data::StreamCaptionRandom random(0, 1, 0);  // draws nothing
      captions.push_back(data::process_caption(sample.caption, options, {}, {}, random));
    }
  }
  return captions;
}

}  // namespace

size_t loader_threads(const schema::Values& values) {
  const int64_t asked = values.maybe_integer("max_data_loader_n_workers").value_or(8);
  const int64_t cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  return static_cast<size_t>(std::clamp<int64_t>(asked, 0, std::max<int64_t>(1, cores)));
}

std::unique_ptr<data::LatentCache> cached_latents(const CacheRequest& request) {
  const bool is_on_disk = request.values.flag("cache_latents_to_disk");
  if (!is_on_disk && !request.values.flag("cache_latents")) return nullptr;
  request.events.phase("Caching latents");
  auto cache = std::make_unique<data::LatentCache>(is_on_disk ? cache_folder(request.values) : std::filesystem::path(),
                                                   request.base.vae_hash);
  for (const std::string& problem : cache->problems()) request.events.warning(problem);
  const at::NoGradGuard no_grad;
  data::LatentFill fill;
  fill.batch = request.values.maybe_integer("vae_batch_size").value_or(1);
  fill.threads = loader_threads(request.values);
  fill.encode = [&](const at::Tensor& pixels) {
    return request.base.model->encode_moments(pixels.to(request.base.device));
  };
  fill.progress = [&](int64_t done, int64_t total) {
    request.events.progress({.phase = "cache_latents", .step = done, .total = total});
  };
  fill.is_stopped = [&] { return request.stop.load(); };
  for (const data::Dataset& dataset : request.datasets) {
    if (cache->fill(dataset, fill)) continue;
    throw base::Error(base::ErrorCode::Cancelled, "stopped while latents were cached; what was made on disk is kept");
  }
  return cache;
}

std::unique_ptr<TextStates> cached_text(const CacheRequest& request, bool is_trained) {
  TextStatesOptions options;
  options.text = text_options(request.values);
  options.is_trained = is_trained;
  options.model_hash = request.base.hash + (request.base.dtype == at::kFloat ? "" : "+bf16");
  if (request.values.flag("cache_text_encoder_outputs_to_disk")) options.folder = cache_folder(request.values);
  auto text = std::make_unique<TextStates>(*request.base.model, options);
  if (is_trained) return text;
  request.events.phase("Caching text");
  text->fill(fixed_captions(request.datasets), request.events, [&] { return request.stop.load(); });
  return text;
}

}  // namespace cinnabar::train
