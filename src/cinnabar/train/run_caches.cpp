#include "cinnabar/train/run_caches.h"

#include <algorithm>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/base/error.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/data/caption.h"
#include "cinnabar/data/described_data.h"
#include "cinnabar/train/text_npz.h"

namespace cinnabar::train {

namespace {

models::TextOptions text_options(const schema::Values& values) {
  return {.max_token_length = values.maybe_integer("max_token_length").value_or(75),
          .clip_skip = values.maybe_integer("clip_skip").value_or(0),
          .is_weighted = values.flag("weighted_captions")};
}

struct FixedCaption {
  const data::Sample* sample;
  std::string caption;  // as it is trained on
};

// Those of all samples, without those that differ from one draw to the next.
std::vector<FixedCaption> fixed_captions(const std::vector<data::Dataset>& datasets) {
  std::vector<FixedCaption> captions;
  for (const data::Dataset& dataset : datasets) {
    for (const data::Sample& sample : dataset.samples) {
      const data::CaptionOptions& options = dataset.options.subsets.at(sample.subset).caption;
      if (!data::varying_caption_options(options).empty()) continue;
      data::StreamCaptionRandom random(0, 1, 0);  // draws nothing
      captions.push_back({&sample, data::process_caption(sample.caption, options, {}, {}, random)});
    }
  }
  return captions;
}

models::Conditioning of_one(TextStates& text, const std::string& caption) {
  models::Conditioning states = text.of({caption});
  states.context = states.context[0];
  states.pooled = states.pooled[0];
  return states;
}

// Takes over what sd-scripts left beside the pictures. Its files hold the caption as written, without prefix and
// suffix.
void read_text_files(TextStates& text, const std::vector<FixedCaption>& captions, base::EventSink& events) {
  const models::Conditioning like = of_one(text, "");
  int64_t count = 0;
  for (const FixedCaption& one : captions) {
    std::error_code ignored;
    if (!std::filesystem::exists(text_npz_path(*one.sample), ignored)) continue;
    if (one.caption != one.sample->caption) {
      events.warning(text_npz_path(*one.sample).string() +
                     " is not used: such files know no prefix, suffix or other change of captions");
      continue;
    }
    const base::Result<models::Conditioning> found = read_text_npz(*one.sample, like);
    if (found) {
      text.put(one.caption, found.value());
      ++count;
    } else {
      events.warning(found.error().message() + "; the caption is encoded anew");
    }
  }
  if (count > 0) events.warning(std::to_string(count) + " encoded captions are taken from _te_outputs.npz files.");
}

data::NpzRule npz_rule(const CacheRequest& request) {
  const models::ModelInfo& info = request.base.model->info();
  return {.reads = request.values.flag("read_npz"),
          .writes = request.values.flag("write_npz"),
          .suffix = info.family == "sdxl" ? "_sdxl.npz" : "_sd.npz",
          .channels = info.latent_channels,
          .downscale = info.downscale};
}

// Of single pictures whose latents leave the range of the autoencoder's own precision.
at::Tensor encoded_in_float(LoadedModel& base, const at::Tensor& pixels) {
  at::ScalarType own = at::kFloat;
  base.model->vae().each_parameter("", [&](const std::string&, at::Tensor& value) { own = value.scalar_type(); });
  base.model->vae().to(at::kFloat);
  at::Tensor moments = base.model->encode_moments(pixels.to(base.device));
  base.model->vae().to(own);
  return moments;
}

}  // namespace

size_t loader_threads(const schema::Values& values) {
  const int64_t asked = values.maybe_integer("max_data_loader_n_workers").value_or(8);
  const int64_t cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  return static_cast<size_t>(std::clamp<int64_t>(asked, 0, std::max<int64_t>(1, cores)));
}

std::unique_ptr<data::LatentCache> cached_latents(const CacheRequest& request) {
  const bool is_on_disk = request.values.flag("cache_latents_to_disk");
  const data::NpzRule npz = npz_rule(request);
  if (!is_on_disk && !request.values.flag("cache_latents") && !npz.reads && !npz.writes) return nullptr;
  request.events.phase("Caching latents");
  auto cache = std::make_unique<data::LatentCache>(
      is_on_disk ? data::cache_folder(request.values, request.datasets) : std::filesystem::path(),
      request.base.vae_hash);
  for (const std::string& problem : cache->problems()) request.events.warning(problem);
  const at::NoGradGuard no_grad;
  data::LatentFill fill;
  fill.batch = request.values.maybe_integer("vae_batch_size").value_or(1);
  fill.threads = loader_threads(request.values);
  fill.npz = npz;
  data::PictureNotes notes([&](const std::string& text) { request.events.warning(text); });
  fill.notes = &notes;
  fill.encode = [&](const at::Tensor& pixels) {
    return request.base.model->encode_moments(pixels.to(request.base.device));
  };
  if (!request.base.is_vae_float) {
    fill.encode_exact = [&](const at::Tensor& pixels) { return encoded_in_float(request.base, pixels); };
  }
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

void leave_out_faulty(std::vector<data::Dataset>& datasets, std::vector<data::Dataset>& held_out,
                      const data::LatentCache& cache) {
  const auto is_empty = [](const data::Dataset& dataset) { return dataset.samples.empty(); };
  data::take_out_faulty(datasets, cache);
  data::take_out_faulty(held_out, cache);
  std::erase_if(held_out, is_empty);
  if (!std::ranges::all_of(datasets, is_empty)) return;
  const data::Issue& first = cache.faults().front();
  throw base::Error(base::ErrorCode::Data, "no picture of the data set can be used; the first fault is " +
                                               first.path.string() + ": " + first.message);
}

std::unique_ptr<TextStates> cached_text(const CacheRequest& request, bool is_trained) {
  const bool is_sdxl = request.base.model->info().family == "sdxl";
  const bool reads_npz = is_sdxl && request.values.flag("read_npz");
  TextStatesOptions options;
  options.text = text_options(request.values);
  options.is_trained = is_trained;
  options.is_exact = request.base.device.is_cpu();
  options.model_hash = request.base.hash + request.base.merged + precision_suffix(request.base.dtype);
  if (request.values.flag("sdscripts_text_projection")) options.model_hash += "+projection";
  // Foreign states do not go into our own cache.
  if (!reads_npz && request.values.flag("cache_text_encoder_outputs_to_disk"))
    options.folder = data::cache_folder(request.values, request.datasets);
  auto text = std::make_unique<TextStates>(*request.base.model, options);
  for (const std::string& problem : text->problems()) request.events.warning(problem);
  if (is_trained) return text;
  request.events.phase("Caching text");
  const std::vector<FixedCaption> fixed = fixed_captions(request.datasets);
  if (reads_npz) read_text_files(*text, fixed, request.events);
  std::vector<std::string> captions;
  for (const FixedCaption& one : fixed) captions.push_back(one.caption);
  text->fill(captions, request.events, [&] { return request.stop.load(); });
  if (!is_sdxl || !request.values.flag("write_npz")) return text;
  for (const FixedCaption& one : fixed) {
    if (one.caption == one.sample->caption) write_text_npz(*one.sample, of_one(*text, one.caption));
  }
  return text;
}

void release_text_encoders(const CacheRequest& request) {
  if (!request.values.flag("network_train_unet_only") || request.stop.load()) return;
  for (const data::Dataset& dataset : request.datasets) {
    for (const data::SubsetOptions& subset : dataset.options.subsets) {
      if (!data::varying_caption_options(subset.caption).empty()) return;
    }
  }
  request.base.model->release("text");
}

}  // namespace cinnabar::train
