#include "cinnabar/data/latent_cache.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <unordered_set>

#include <ATen/ATen.h>

#include "cinnabar/base/prefetcher.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/sample_picture.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::data {

namespace {

constexpr const char* kPlain = "moments";
constexpr const char* kFlippedEnding = "moments_flipped";
// Changes when the way from file to pixels changes, so that older entries are not used.
constexpr const char* kVersion = "latents-2";
constexpr const char* kMaskVersion = "mask-1";

const char* ending(bool is_flipped) { return is_flipped ? kFlippedEnding : kPlain; }

bool is_alpha(const Sample& sample, const DatasetOptions& options) {
  return options.subsets.at(sample.subset).alpha_mask;
}

std::string background_of(const Sample& sample, const DatasetOptions& options) {
  if (is_alpha(sample, options) || !options.background) return "as stored";
  const Colour& colour = *options.background;
  return std::to_string(colour[0]) + "," + std::to_string(colour[1]) + "," + std::to_string(colour[2]);
}

// Everything but the file that decides about the pixels.
std::string geometry(const Sample& sample, const DatasetOptions& options) {
  const auto interpolation = interpolation_of(sample, options);
  return to_string(sample.bucket.resized) + "|" + to_string(sample.bucket.bucket) + "|" +
         std::to_string(interpolation ? static_cast<int>(*interpolation) : -1);
}

std::string place(const Sample& sample, const DatasetOptions& options) {
  return sample.path.string() + "|" + sample.mask.string() + "|" + geometry(sample, options) + "|" +
         background_of(sample, options) + (is_alpha(sample, options) ? "|alpha" : "");
}

at::Tensor pixels_of(const Picture& picture) {
  at::Tensor pixels = at::empty({3, picture.height, picture.width}, at::kFloat);
  normalise_to(picture, {pixels.mutable_data_ptr<float>(), static_cast<size_t>(pixels.numel())});
  return pixels;
}

std::string sentence(const Issue& issue) { return issue.path.string() + ": " + issue.message + "; " + issue.action; }

void check_options(const Dataset& dataset) {
  for (const SubsetOptions& subset : dataset.options.subsets) {
    if (!subset.random_crop && !subset.color_aug) continue;
    throw base::Error(base::ErrorCode::Config,
                      subset.image_dir.string() + ": " + (subset.random_crop ? "random_crop" : "color_aug") +
                          " is not possible with cached latents, which hold one form of each picture; leave it out, or "
                          "leave cache_latents and cache_latents_to_disk out");
  }
}

}  // namespace

// A batch on its way: the pictures that could be read, in order.
struct LatentCache::Job {
  std::vector<Missing> items;
  std::vector<at::Tensor> pixels;
  std::vector<std::vector<uint8_t>> masks;
  std::vector<std::pair<size_t, std::string>> faults;  // sample and reason
};

LatentCache::LatentCache(const std::filesystem::path& folder, std::string model_hash)
    : store_(folder, "latents"),
      hashes_(folder.empty() ? std::filesystem::path() : folder / "files.txt"),
      model_hash_(std::move(model_hash)) {}

LatentCache::Entry LatentCache::entry_of(const Sample& sample, const DatasetOptions& options) {
  const std::string content = hashes_.of(sample.path);
  const std::string shape = geometry(sample, options);
  Entry entry;
  entry.latents = base::sha256_hex(std::string(kVersion) + "|" + model_hash_ + "|" + content + "|" + shape + "|" +
                                   background_of(sample, options));
  if (has_mask(sample, options)) {
    const std::string source = sample.mask.empty() ? "alpha" : hashes_.of(sample.mask);
    entry.mask = base::sha256_hex(std::string(kMaskVersion) + "|" + source + "|" + content + "|" + shape);
  }
  return entry;
}

const LatentCache::Entry& LatentCache::entry(const Dataset& dataset, size_t sample) const {
  return entries_.at(place(dataset.samples.at(sample), dataset.options));
}

LatentCache::Entry* LatentCache::find_entry(const Sample& sample, const DatasetOptions& options) {
  const auto found = entries_.find(place(sample, options));
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::vector<LatentCache::Missing>> LatentCache::plan(const Dataset& dataset, const LatentFill& fill) {
  using Hashed = base::Result<Entry>;
  // Hashing reads every file once, so it is spread over the threads, too.
  base::Prefetcher<Hashed> hashing(dataset.samples.size(), {.threads = fill.threads, .ahead = 64},
                                   [&](size_t i) -> Hashed {
                                     try {
                                       return entry_of(dataset.samples[i], dataset.options);
                                     } catch (const base::Error& error) {
                                       return error;
                                     }
                                   });
  for (const Sample& sample : dataset.samples) {
    const Hashed found = hashing.next();
    if (found) {
      entries_[place(sample, dataset.options)] = found.value();
    } else {
      add_fault(sample, found.error().message(), fill.notes);
    }
  }
  find_npz(dataset, fill);
  std::map<Size, std::vector<Missing>> by_bucket;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    const Entry* found = find_entry(sample, dataset.options);
    if (found == nullptr || !found->npz.empty()) continue;
    const Entry& entry = *found;
    const bool lacks_mask = !entry.mask.empty() && !store_.has(entry.mask);
    for (const bool is_flipped : {false, true}) {
      if (is_flipped && !dataset.options.subsets.at(sample.subset).flip_aug) continue;
      if (store_.has(entry.latents + ending(is_flipped)) && (is_flipped || !lacks_mask)) continue;
      by_bucket[sample.bucket.bucket].push_back({i, is_flipped});
    }
  }
  std::vector<std::vector<Missing>> batches;
  for (const auto& [bucket, missing] : by_bucket) {
    for (size_t start = 0; start < missing.size(); start += static_cast<size_t>(fill.batch)) {
      const size_t end = std::min(missing.size(), start + static_cast<size_t>(fill.batch));
      batches.emplace_back(missing.begin() + static_cast<int64_t>(start), missing.begin() + static_cast<int64_t>(end));
    }
  }
  return batches;
}

LatentCache::Job LatentCache::prepare(const Dataset& dataset, const std::vector<Missing>& batch,
                                      const LatentFill& fill) const {
  Job job;
  for (const Missing& item : batch) {
    const Sample& sample = dataset.samples[item.sample];
    try {
      PreparedPicture prepared = prepare_picture(sample, dataset.options, item.is_flipped);
      if (fill.notes != nullptr) fill.notes->add(sample.path, prepared.picture.notes);
      job.pixels.push_back(pixels_of(prepared.picture));
      job.masks.push_back(std::move(prepared.mask));
      job.items.push_back(item);
    } catch (const base::Error& error) {
      job.faults.emplace_back(item.sample, error.message());
    }
  }
  return job;
}

void LatentCache::encode(const Dataset& dataset, Job& job, const LatentFill& fill) {
  if (job.items.empty()) return;
  const auto encoded = [&](const Encode& encoder, const at::Tensor& pixels) {
    return encoder(pixels).to(at::kCPU, at::kFloat).contiguous();
  };
  const auto begin = std::chrono::steady_clock::now();
  const at::Tensor moments = encoded(fill.encode, at::stack(job.pixels));
  encode_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  encoded_ += static_cast<int64_t>(job.items.size());
  for (size_t i = 0; i < job.items.size(); ++i) {
    const Sample& sample = dataset.samples[job.items[i].sample];
    at::Tensor one = moments[static_cast<int64_t>(i)].contiguous();
    if (!one.isfinite().all().item<bool>() && fill.encode_exact) {
      if (fill.notes != nullptr) {
        fill.notes->fault(sample.path, sample.path.string() +
                                           ": its latents are not finite in half precision and were made again in fp32 "
                                           "(--no_half_vae does so for all)");
      }
      one = encoded(fill.encode_exact, job.pixels[i].unsqueeze(0))[0].contiguous();
    }
    if (!one.isfinite().all().item<bool>()) {
      add_fault(sample,
                "the autoencoder gives latents that are not finite, in fp32 too (another one may do better: --vae)",
                fill.notes);
      continue;
    }
    const Entry& entry = entries_.at(place(sample, dataset.options));
    if (!entry.mask.empty() && !job.items[i].is_flipped) {
      store_.put(entry.mask, {{"mask",
                               {formats::Dtype::U8,
                                {sample.bucket.bucket.height, sample.bucket.bucket.width},
                                std::as_bytes(std::span(job.masks[i]))}}});
    }
    store_.put(entry.latents + ending(job.items[i].is_flipped), {{"moments", tensor::view_of(one)}});
  }
}

void LatentCache::add_fault(const Sample& sample, const std::string& message, PictureNotes* notes) {
  const bool is_known =
      std::any_of(faults_.begin(), faults_.end(), [&](const Issue& fault) { return fault.path == sample.path; });
  if (is_known) return;
  // Messages about a file begin with its name, and so do findings.
  const std::string name = sample.path.string() + ": ";
  faults_.push_back({.severity = Severity::Warning,
                     .path = sample.path,
                     .message = message.starts_with(name) ? message.substr(name.size()) : message,
                     .action = "left out",
                     .treatment = Treatment::LeftOut,
                     .kind = "not_cached"});
  if (notes != nullptr) notes->fault(sample.path, sentence(faults_.back()));
}

bool LatentCache::fill(const Dataset& dataset, const LatentFill& fill) {
  check_options(dataset);
  npz_ = fill.npz;
  const auto batches = plan(dataset, fill);
  size_t total = 0;
  for (const auto& batch : batches) total += batch.size();
  base::Prefetcher<Job> loading(batches.size(), {.threads = fill.threads, .ahead = 2 * fill.threads},
                                [&](size_t b) { return prepare(dataset, batches[b], fill); });
  int64_t done = 0;
  bool is_stopped = false;
  for (const auto& batch : batches) {
    is_stopped = fill.is_stopped && fill.is_stopped();
    if (is_stopped) break;
    Job job = loading.next();
    for (const auto& [sample, reason] : job.faults) add_fault(dataset.samples[sample], reason, fill.notes);
    encode(dataset, job, fill);
    done += static_cast<int64_t>(batch.size());
    if (fill.progress) fill.progress(done, static_cast<int64_t>(total));
  }
  store_.flush();
  hashes_.save();
  if (is_stopped) return false;
  if (fill.npz.writes) write_npz(dataset, fill);
  return true;
}

at::Tensor LatentCache::moments(const Dataset& dataset, size_t sample, bool is_flipped) const {
  const Entry& found = entry(dataset, sample);
  if (found.npz.empty()) return tensor::copy(store_.get(found.latents + ending(is_flipped)).at("moments"));
  const NpzLatents read = read_npz(dataset, sample, is_flipped, false);
  const at::Tensor& mean = is_flipped ? read.flipped : read.latents;
  return at::cat({mean, at::full_like(mean, -std::numeric_limits<float>::infinity())});
}

at::Tensor LatentCache::mask(const Dataset& dataset, size_t sample) const {
  const Entry& found = entry(dataset, sample);
  if (found.mask.empty()) return {};
  if (found.npz.empty() || store_.has(found.mask)) return tensor::copy(store_.get(found.mask).at("mask"));
  return (read_npz(dataset, sample, false, true).mask * 255.0).round().to(at::kByte);
}

void take_out_faulty(std::vector<Dataset>& datasets, const LatentCache& cache) {
  if (cache.faults().empty()) return;
  std::unordered_set<std::string> failed;
  for (const Issue& fault : cache.faults()) failed.insert(fault.path.string());
  for (Dataset& dataset : datasets) {
    std::vector<size_t> indices;
    for (size_t i = 0; i < dataset.samples.size(); ++i) {
      if (failed.contains(dataset.samples[i].path.string())) indices.push_back(i);
    }
    if (indices.empty()) continue;
    for (const Issue& fault : cache.faults()) dataset.issues.push_back(fault);
    remove_samples(dataset, indices);
  }
}

}  // namespace cinnabar::data
