#include "cinnabar/schema/option_groups.h"

namespace cinnabar::schema {

namespace {

std::vector<Option> bucket_options() {
  return {
      {.name = "enable_bucket",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .label = "Buckets",
       .help = "Keeps the aspect ratio of pictures: each goes to the bucket of the nearest shape with about as many "
               "pixels."},
      {.name = "min_bucket_reso",
       .type = Type::Int,
       .fallback = 256,
       .range = {{8, 65536}},
       .typical = {{256, 512}},
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .unit = "px",
       .shown_if = "enable_bucket or dataset_config",
       .label = "Smallest side",
       .help = "The smallest side of a bucket."},
      {.name = "max_bucket_reso",
       .type = Type::Int,
       .fallback = 1024,
       .range = {{8, 65536}},
       .typical = {{768, 2048}},
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .unit = "px",
       .shown_if = "enable_bucket or dataset_config",
       .label = "Largest side",
       .help = "The largest side of a bucket."},
      {.name = "bucket_reso_steps",
       .type = Type::Int,
       .fallback = 64,
       .range = {{8, 1024}},
       .typical = {{64, 64}},
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .unit = "px",
       .shown_if = "enable_bucket or dataset_config",
       .label = "Bucket step",
       .help = "Sides of buckets are multiples of this; 64 for Stable Diffusion."},
      {.name = "bucket_no_upscale",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .shown_if = "enable_bucket or dataset_config",
       .label = "Never enlarge",
       .help = "Never enlarges a picture: bucket sizes follow the pictures instead of a fixed list."},
  };
}

std::vector<Option> cache_rows() {
  return {
      {.name = "cache_latents",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .label = "Cache latents",
       .help = "Encodes every picture once and keeps the latents, which saves time and memory."},
      {.name = "cache_latents_to_disk",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .label = "Cache latents on disk",
       .help = "Keeps the latents on disk for the next run. Includes cache_latents."},
      {.name = "cache_text_encoder_outputs",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Cache text",
       .help =
           "Runs the text encoder once a caption and keeps the result. The text encoder cannot be trained then, and "
           "captions cannot be shuffled or dropped."},
      {.name = "cache_text_encoder_outputs_to_disk",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Cache text on disk",
       .help = "Keeps the encoded captions on disk for the next run. Includes cache_text_encoder_outputs."},
      {.name = "vae_batch_size",
       .type = Type::Int,
       .fallback = 1,
       .range = {{1, 1024}},
       .typical = {{1, 8}},
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .shown_if = "cache_latents or cache_latents_to_disk or dataset_config",
       .label = "VAE batch",
       .help = "How many pictures are encoded at once while latents are cached."},
  };
}

std::vector<Option> reading_rows() {
  return {
      {.name = "dataset_repeats",
       .type = Type::Int,
       .fallback = 1,
       .range = {{1, 1e5}},
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .shown_if = "dataset_config",
       .label = "Repeats",
       .help = "How often an epoch holds each picture of a data set file that says no num_repeats. Folders say it by "
               "their names."},
      {.name = "recursive",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "With inner folders",
       .help = "Uses the pictures in folders below the picture folders, too."},
      {.name = "strict",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Strict",
       .help = "Decodes every picture first and stops before the model is loaded when anything would be left out."},
      {.name = "flip_aug",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .label = "Flip",
       .help = "Mirrors half of the pictures, drawn anew each time. Not for subjects that are not symmetric."},
      {.name = "resize_interpolation",
       .type = Type::Text,
       .choices = {"lanczos", "nearest", "bilinear", "linear", "bicubic", "cubic", "area", "box"},
       .group = kDatasetGroup,
       .level = Level::Expert,
       .label = "Resize filter",
       .help = "The filter for resizing pictures. The default is area for shrinking and lanczos for enlarging."},
      {.name = "max_data_loader_n_workers",
       .type = Type::Int,
       .fallback = 8,
       .range = {{0, 256}},
       .typical = {{0, 8}},
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Loader threads",
       .help = "How many threads load and prepare pictures, at most as many as there are processor cores."},
  };
}

}  // namespace

std::vector<Option> dataset_options() {
  std::vector<Option> rows = {
      {.name = "train_data_dir",
       .type = Type::Path,
       .group = kDatasetGroup,
       .label = "Pictures",
       .help =
           "The folder of training pictures: sub-folders named REPEATS_WORDS (10_my dog), or pictures directly in it, "
           "each with a caption file of the same name beside it.",
       .path = PathKind::Folder,
       .accepts_embedded = true},
      {.name = "dataset_config",
       .type = Type::Path,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Data set file",
       .help =
           "A TOML or JSON file that describes one or several data sets with their folders, sizes and captions. What "
           "it leaves open comes from the other options; train_data_dir and reg_data_dir are not used beside it.",
       .path = PathKind::File},
      {.name = "reg_data_dir",
       .type = Type::Path,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Regularisation pictures",
       .help = "A folder of regularisation pictures, laid out like train_data_dir, that keep the class as it was.",
       .path = PathKind::Folder,
       .accepts_embedded = true},
      {.name = "resolution",
       .type = Type::Size,
       .typical = {{512, 1024}},
       .group = kDatasetGroup,
       .unit = "px",
       .label = "Resolution",
       .help = "The training size: a side (512) or WIDTH,HEIGHT (512,768). The default is 512, and 64 for the embedded "
               "model or its pictures."},
      {.name = "train_batch_size",
       .aliases = {"batch_size"},
       .type = Type::Int,
       .fallback = 1,
       .range = {{1, 4096}},
       .typical = {{1, 8}},
       .group = kDatasetGroup,
       .label = "Batch size",
       .help = "How many pictures a step sees at once."},
      {.name = "caption_extension",
       .aliases = {"caption_extention"},
       .type = Type::Text,
       .group = kDatasetGroup,
       .label = "Caption files",
       .help =
           "The extension of caption files; a missing dot is added. Unset: .caption, and .txt where that is missing."},
  };
  for (const auto& part : {bucket_options(), cache_rows()}) rows.insert(rows.end(), part.begin(), part.end());
  const std::vector<Option> rest = reading_rows();
  rows.insert(rows.end(), rest.begin(), rest.end());
  return rows;
}

}  // namespace cinnabar::schema
