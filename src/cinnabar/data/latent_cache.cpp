#include "cinnabar/data/latent_cache.h"

#include <algorithm>
#include <map>

#include <ATen/ATen.h>

#include "cinnabar/base/prefetcher.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/picture.h"
#include "cinnabar/data/resize.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::data {

namespace {

constexpr const char* kPlain = "moments";
constexpr const char* kFlipped = "moments_flipped";
// Changes when the way from file to pixels changes, so that older entries are not used.
constexpr const char* kVersion = "latents-1";

std::optional<Interpolation> interpolation_of(const Sample& sample, const DatasetOptions& options) {
  const auto& own = options.subsets.at(sample.subset).resize_interpolation;
  return own ? own : options.resize_interpolation;
}

std::string place(const Sample& sample) {
  return sample.path.string() + "|" + to_string(sample.bucket.resized) + "|" + to_string(sample.bucket.bucket);
}

struct Missing {
  size_t sample = 0;
  bool is_flipped = false;
};

}  // namespace

at::Tensor sample_pixels(const Sample& sample, const DatasetOptions& options, bool is_flipped) {
  Picture picture = fitted(load_picture(sample.path), sample.bucket, interpolation_of(sample, options));
  if (is_flipped) picture = flipped(picture);
  at::Tensor pixels = at::empty({3, picture.height, picture.width}, at::kFloat);
  normalise_to(picture, {pixels.mutable_data_ptr<float>(), static_cast<size_t>(pixels.numel())});
  return pixels;
}

LatentCache::LatentCache(const std::filesystem::path& folder, std::string model_hash)
    : store_(folder, "latents"),
      hashes_(folder.empty() ? std::filesystem::path() : folder / "files.txt"),
      model_hash_(std::move(model_hash)) {}

std::string LatentCache::key(const Sample& sample, const DatasetOptions& options) {
  const auto interpolation = interpolation_of(sample, options);
  return base::sha256_hex(std::string(kVersion) + "|" + model_hash_ + "|" + hashes_.of(sample.path) + "|" +
                          to_string(sample.bucket.resized) + "|" + to_string(sample.bucket.bucket) + "|" +
                          std::to_string(interpolation ? static_cast<int>(*interpolation) : -1));
}

bool LatentCache::fill(const Dataset& dataset, const LatentFill& fill) {
  // Hashing reads every file once, so it is spread over the threads, too.
  base::Prefetcher<std::string> hashing(dataset.samples.size(), {.threads = fill.threads, .ahead = 64},
                                        [&](size_t i) { return key(dataset.samples[i], dataset.options); });
  std::map<Size, std::vector<Missing>> by_bucket;
  size_t total = 0;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    const std::string id = hashing.next();
    keys_[place(sample)] = id;
    for (const bool is_flipped : {false, true}) {
      if (is_flipped && !dataset.options.subsets.at(sample.subset).flip_aug) continue;
      if (store_.has(id + (is_flipped ? kFlipped : kPlain))) continue;
      by_bucket[sample.bucket.bucket].push_back({i, is_flipped});
      ++total;
    }
  }
  std::vector<std::vector<Missing>> batches;
  for (const auto& [bucket, missing] : by_bucket) {
    for (size_t start = 0; start < missing.size(); start += static_cast<size_t>(fill.batch)) {
      const size_t end = std::min(missing.size(), start + static_cast<size_t>(fill.batch));
      batches.emplace_back(missing.begin() + static_cast<int64_t>(start), missing.begin() + static_cast<int64_t>(end));
    }
  }
  base::Prefetcher<at::Tensor> loading(
      batches.size(), {.threads = fill.threads, .ahead = 2 * fill.threads}, [&](size_t b) {
        std::vector<at::Tensor> pixels;
        for (const Missing& item : batches[b]) {
          pixels.push_back(sample_pixels(dataset.samples[item.sample], dataset.options, item.is_flipped));
        }
        return at::stack(pixels);
      });
  int64_t done = 0;
  for (const auto& batch : batches) {
    if (fill.is_stopped && fill.is_stopped()) {
      store_.flush();
      return false;
    }
    const at::Tensor moments = fill.encode(loading.next()).to(at::kCPU, at::kFloat).contiguous();
    for (size_t i = 0; i < batch.size(); ++i) {
      const Sample& sample = dataset.samples[batch[i].sample];
      const at::Tensor one = moments[static_cast<int64_t>(i)].contiguous();
      if (!one.isfinite().all().item<bool>()) {
        throw base::Error(base::ErrorCode::Data, "the autoencoder gave latents that are not finite for " +
                                                     sample.path.string() +
                                                     "; use --no_half_vae or another VAE, or take the picture out");
      }
      store_.put(keys_.at(place(sample)) + (batch[i].is_flipped ? kFlipped : kPlain),
                 {{"moments", tensor::view_of(one)}});
    }
    done += static_cast<int64_t>(batch.size());
    if (fill.progress) fill.progress(done, static_cast<int64_t>(total));
  }
  store_.flush();
  hashes_.save();
  return true;
}

at::Tensor LatentCache::moments(const Dataset& dataset, size_t sample, bool is_flipped) const {
  const std::string& id = keys_.at(place(dataset.samples.at(sample)));
  return tensor::copy(store_.get(id + (is_flipped ? kFlipped : kPlain)).at("moments"));
}

}  // namespace cinnabar::data
