// The part of the latent cache that deals with sd-scripts' files.
#include <algorithm>
#include <map>
#include <set>

#include <ATen/ATen.h>

#include "cinnabar/base/counted.h"
#include "cinnabar/base/random_stream.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/latent_cache.h"
#include "cinnabar/data/sample_picture.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::data {

namespace {

constexpr size_t kShownNames = 3;

// Counts of files with the first names.
struct Tally {
  size_t count = 0;
  std::string names{};

  void add(const std::string& name) {
    if (++count <= kShownNames) names += (names.empty() ? "" : ", ") + name;
    if (count == kShownNames + 1) names += ", ...";
  }
};

// Names that several pictures have (a.png and a.jpg), of which one file could hold one.
std::set<std::filesystem::path> shared_places(const Dataset& dataset, const std::string& suffix) {
  std::map<std::filesystem::path, std::filesystem::path> pictures;
  std::set<std::filesystem::path> shared;
  for (const Sample& sample : dataset.samples) {
    const auto [place, is_new] = pictures.try_emplace(npz_path(sample, suffix), sample.path);
    if (!is_new && place->second != sample.path) shared.insert(place->first);
  }
  return shared;
}

// A draw from the posterior, always the same one for the same moments.
at::Tensor drawn(const at::Tensor& moments, const std::string& key) {
  const uint64_t seed = std::stoull(key.substr(0, 15), nullptr, 16);
  const auto halves = moments.chunk(2, 0);
  base::RandomStream random(seed, base::Purpose::LatentSample);
  at::Tensor noise = at::empty(halves[0].sizes(), at::kFloat);
  random.fill_normal({noise.mutable_data_ptr<float>(), static_cast<size_t>(noise.numel())});
  return halves[0] + (halves[1] * 0.5).exp() * noise;
}

}  // namespace

NpzLatents LatentCache::read_npz(const Dataset& dataset, size_t sample, bool is_flipped, bool is_mask) const {
  const base::Result<NpzLatents> found =
      read_npz_latents(entry(dataset, sample).npz, {.sample = dataset.samples.at(sample),
                                                    .wants_flipped = is_flipped,
                                                    .wants_mask = is_mask,
                                                    .channels = npz_.channels,
                                                    .downscale = npz_.downscale});
  if (!found) throw base::Error(found.error());
  return found.value();
}

void LatentCache::find_npz(const Dataset& dataset, const LatentFill& fill) {
  Tally used, present, shared;
  const std::set<std::filesystem::path> several = shared_places(dataset, fill.npz.suffix);
  for (const Sample& sample : dataset.samples) {
    const std::filesystem::path path = npz_path(sample, fill.npz.suffix);
    if (several.contains(path)) {
      shared.add(sample.path.filename().string());
      continue;
    }
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    present.add(path.filename().string());
    Entry* entry = find_entry(sample, dataset.options);
    if (!fill.npz.reads || entry == nullptr) continue;
    // A mask picture is read from its own file; alpha masks stand in the .npz.
    const bool wants_mask = has_mask(sample, dataset.options) && sample.mask.empty();
    const base::Result<NpzLatents> found =
        read_npz_latents(path, {.sample = sample,
                                .wants_flipped = dataset.options.subsets.at(sample.subset).flip_aug,
                                .wants_mask = wants_mask,
                                .channels = fill.npz.channels,
                                .downscale = fill.npz.downscale});
    if (found && (sample.mask.empty() || store_.has(entry->mask))) {
      entry->npz = path;
      used.add(path.filename().string());
    } else if (!found && fill.notes != nullptr) {
      fill.notes->fault(path, found.error().message() + "; the picture is encoded anew");
    }
  }
  if (fill.notes == nullptr) return;
  if (used.count > 0) {
    fill.notes->fault("npz used", base::counted(used.count, "latent") + " from .npz files: " + used.names +
                                      ". They were drawn once when they were made and do not say from which picture "
                                      "content and VAE.");
  }
  if (shared.count > 0 && (fill.npz.reads || fill.npz.writes)) {
    fill.notes->fault("npz shared", base::counted(shared.count, "picture") +
                                        " with the name of the .npz file in common with another one: " + shared.names +
                                        ". Such files are neither read nor written; rename the pictures.");
  }
  if (present.count > 0 && !fill.npz.reads && !fill.npz.writes) {
    fill.notes->fault("npz present",
                      base::counted(present.count, "picture") +
                          " with latent caches of sd-scripts beside: " + present.names +
                          ". They are not used, since they do not say from which picture content and VAE they were "
                          "made; --read_npz uses them.");
  }
}

void LatentCache::write_npz(const Dataset& dataset, const LatentFill& fill) const {
  const std::set<std::filesystem::path> several = shared_places(dataset, fill.npz.suffix);
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    const bool is_faulty =
        std::any_of(faults_.begin(), faults_.end(), [&](const Issue& fault) { return fault.path == sample.path; });
    if (is_faulty) continue;
    const Entry& found = entry(dataset, i);
    if (!found.npz.empty()) continue;  // read from there
    const std::filesystem::path path = npz_path(sample, fill.npz.suffix);
    if (several.contains(path)) continue;
    NpzLatents latents{.latents = drawn(moments(dataset, i, false), found.latents)};
    if (dataset.options.subsets.at(sample.subset).flip_aug) {
      latents.flipped = drawn(moments(dataset, i, true), base::sha256_hex(found.latents));
    }
    if (sample.mask.empty() && has_mask(sample, dataset.options)) {
      latents.mask = mask(dataset, i).to(at::kFloat) / 255.0;
    }
    write_npz_latents(path, sample, latents);
  }
}

}  // namespace cinnabar::data
