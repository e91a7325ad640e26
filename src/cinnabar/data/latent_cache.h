// Latents and masks of a data set's pictures, made once by the autoencoder and kept in memory or on disk.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/data/content_hash.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/data/npz_latents.h"
#include "cinnabar/data/picture_notes.h"
#include "cinnabar/data/tensor_cache.h"

namespace cinnabar::data {

// [B, 3, H, W] -> moments [B, 2 C, h, w].
using Encode = std::function<at::Tensor(const at::Tensor&)>;

struct LatentFill {
  int64_t batch = 1;   // pictures encoded at a time (vae_batch_size)
  size_t threads = 2;  // that read and resize pictures
  Encode encode;
  Encode encode_exact{};  // in fp32, for pictures whose latents are not finite; unset: `encode` does that already
  std::function<void(int64_t done, int64_t total)> progress = {};  // after each batch
  std::function<bool()> is_stopped = {};
  PictureNotes* notes = nullptr;
  NpzRule npz{};
};

class LatentCache {
 public:
  // `folder` empty: in memory. `model_hash` names the autoencoder and the type it computes in: latents of another one
  // are never used.
  LatentCache(const std::filesystem::path& folder, std::string model_hash);

  // The key of what is cached for a sample, from the content of the picture, the autoencoder, the sizes, the filter and
  // the background. For tests.
  std::string key(const Sample& sample, const DatasetOptions& options) { return entry_of(sample, options).latents; }

  // Encodes what is missing, pictures of one bucket together; mirrored ones too where the subset asks. A picture that
  // cannot be read, or whose latents are not finite in fp32 either, becomes a fault; faulty samples have no latents, so
  // they must leave their data sets (take_out_faulty). Returns false when stopped early (what was made is kept).
  // Throws Error{Config} for subsets with random_crop or color_aug, whose pictures differ from one draw to the next.
  bool fill(const Dataset& dataset, const LatentFill& fill);
  // One a picture, in the order of discovery.
  const std::vector<Issue>& faults() const { return faults_; }
  // Moments [2 C, h, w] of the posterior (mean and log variance), fp32. Latents of an .npz file are already drawn:
  // they come as a mean with the log variance -inf. Throws Error{Data} when such a file went bad meanwhile.
  at::Tensor moments(const Dataset& dataset, size_t sample, bool is_flipped) const;
  // [H, W] uint8 at the size of the bucket, not mirrored; undefined when the sample has no mask.
  at::Tensor mask(const Dataset& dataset, size_t sample) const;
  const std::vector<std::string>& problems() const { return store_.problems(); }
  // Pictures that the autoencoder was asked for so far, mirrored ones counted apart, and the seconds it took for them.
  int64_t encoded() const { return encoded_; }
  double encode_s() const { return encode_s_; }

 private:
  struct Entry {
    std::string latents;          // key without the ending that tells mirrored ones
    std::string mask{};           // key; empty: no mask
    std::filesystem::path npz{};  // read instead, if not empty
  };
  struct Missing {
    size_t sample = 0;
    bool is_flipped = false;
  };
  struct Job;

  Entry entry_of(const Sample& sample, const DatasetOptions& options);
  const Entry& entry(const Dataset& dataset, size_t sample) const;
  // Null when its picture could not be read.
  Entry* find_entry(const Sample& sample, const DatasetOptions& options);
  std::vector<std::vector<Missing>> plan(const Dataset& dataset, const LatentFill& fill);
  Job prepare(const Dataset& dataset, const std::vector<Missing>& batch, const LatentFill& fill) const;
  void encode(const Dataset& dataset, Job& job, const LatentFill& fill);
  void add_fault(const Sample& sample, const std::string& message, PictureNotes* notes);
  NpzLatents read_npz(const Dataset& dataset, size_t sample, bool is_flipped, bool is_mask) const;
  void find_npz(const Dataset& dataset, const LatentFill& fill);
  void write_npz(const Dataset& dataset, const LatentFill& fill) const;

  TensorCache store_;
  ContentHashes hashes_;
  std::string model_hash_;
  std::unordered_map<std::string, Entry> entries_;  // by path, sizes and settings of the sample
  std::vector<Issue> faults_;
  NpzRule npz_;  // of the last fill
  int64_t encoded_ = 0;
  double encode_s_ = 0.0;
};

// Removes the samples that `cache` found faulty, with an Issue each.
void take_out_faulty(std::vector<Dataset>& datasets, const LatentCache& cache);

}  // namespace cinnabar::data
