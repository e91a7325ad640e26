// The texts that an adapter file carries about its training: ss_* keys as sd-scripts writes them and modelspec.* keys
// of the Stability AI model specification 1.0.1 (no torch).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/schema/values.h"

namespace cinnabar::adapters {

using Metadata = std::map<std::string, std::string>;

// Tags with their counts, in order of first appearance.
using TagCounts = std::vector<std::pair<std::string, int64_t>>;
// Lower-cased, split at commas, white space stripped; empty ones left out.
TagCounts count_tags(const std::vector<std::string>& captions);

struct SubsetFacts {
  std::string name;  // base name of the folder, or of the metadata file
  int64_t repeats = 1;
  int64_t image_count = 0;
  bool is_regularisation = false;
  std::optional<std::string> class_tokens{};
  TagCounts tags{};
  // Its options (color_aug, flip_aug, random_crop, shuffle_caption, keep_tokens, ...), as in the data set's
  // description.
  schema::Values options{};
};

struct BucketFacts {
  int64_t width_px = 0;
  int64_t height_px = 0;
  int64_t count = 0;  // pictures, repeats counted
};

struct DatasetFacts {
  bool is_dreambooth = true;  // folders; false: metadata files
  int64_t batch_size = 1;
  int64_t width_px = 512;
  int64_t height_px = 512;
  int64_t train_images = 0;  // repeats counted
  int64_t regularisation_images = 0;
  bool enable_bucket = false;
  bool bucket_no_upscale = false;
  int64_t min_bucket_reso = 256;  // written with enable_bucket
  int64_t max_bucket_reso = 1024;
  std::optional<std::string> resize_interpolation{};
  std::vector<BucketFacts> buckets{};  // in bucket order, empty ones too: their index is part of the text
  double mean_aspect_error = 0.0;
  std::vector<SubsetFacts> subsets{};
};

// Name and hashes of the base model's or autoencoder's file. The hashes are empty when there is no such file.
struct FileFacts {
  std::string name;
  std::string legacy_hash;
  std::string sha256;
};
// `known_sha256`: that of the file where it was computed before; without it the whole file is read. A folder has the
// name alone and "IsADirectory" for both hashes; what does not exist is named as given, absolute paths by their last
// part.
FileFacts file_facts(const std::string& path, const std::string& known_sha256 = "");

struct TrainingFacts {
  uint32_t session_id = 0;
  double started_at_s = 0.0;             // Unix time
  std::string base_model_version;        // models::ModelInfo
  std::string modelspec_architecture;    // models::ModelInfo, without "/lora"
  std::string modelspec_implementation;  // models::ModelInfo
  std::string optimizer_class;           // optim::Entry::reference_class
  bool is_velocity = false;              // prediction type "v"
  std::optional<FileFacts> base_model{};
  std::optional<FileFacts> vae{};
  int64_t validation_images = 0;
  int64_t batches_per_epoch = 0;
  int64_t epochs = 0;
  int64_t max_train_steps = 0;
  int64_t processes = 1;
  bool has_dataset_config = false;  // datasets come from a file: ss_datasets instead of the flat keys
  std::vector<DatasetFacts> datasets{};
};

struct SavePoint {
  double finished_at_s = 0.0;  // Unix time
  int64_t steps = 0;           // optimizer steps
  int64_t epoch = 0;           // epoch saves: 1-based number of the finished epoch; step saves: epochs completed
  // How the weights were averaged over the run, for the entry cinnabar_ema; nothing for weights of one step.
  std::optional<std::string> ema{};
};

// All ss_* and modelspec.* texts of a network file, without the sshs_* hashes (AdapterSet::save adds them). `values`
// are the run's options; with no_metadata only the few keys remain that programs recognise a file by.
Metadata training_metadata(const TrainingFacts& facts, const schema::Values& values, const SavePoint& save);

// The modelspec.* part alone. `kind` is appended to the architecture: "lora", "textual-inversion".
Metadata modelspec_metadata(const TrainingFacts& facts, const schema::Values& values, const std::string& kind,
                            double saved_at_s);

// "torch.optim.adamw.AdamW(weight_decay=0.1,betas=(0.9, 0.99))" from the class and optimizer_args.
std::string optimizer_text(const std::string& optimizer_class, const std::vector<std::string>& arguments);

}  // namespace cinnabar::adapters
