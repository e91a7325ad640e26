#include "cinnabar/schema/option_groups.h"

namespace cinnabar::schema {

namespace {

std::vector<Option> augmentation_rows() {
  return {
      {.name = "color_aug",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Vary colours",
       .help = "Changes the hue or the brightness of a third of the pictures slightly, drawn anew each time. Not with "
               "cached latents."},
      {.name = "random_crop",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Random cut",
       .help = "Cuts what stands over anywhere instead of evenly on both sides. Without enable_bucket, larger pictures "
               "are not made smaller but cut. Not with cached latents."},
      {.name = "face_crop_aug_range",
       .type = Type::Text,
       .group = kDatasetGroup,
       .level = Level::Expert,
       .label = "Cut around faces",
       .help = "Two numbers such as 2.0,4.0: without enable_bucket, pictures whose name ends in the place of a face "
               "(NAME_X_Y_WIDTH_HEIGHT, centre and size in pixels) are cut around it, two to four faces wide. Not with "
               "cached latents."},
      {.name = "transparent_background",
       .type = Type::Text,
       .fallback = "white",
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Transparent parts",
       .help =
           "What transparent parts of pictures are laid over: white, grey, black, a colour such as #FF8000, or keep "
           "for the colour stored beneath them, as in sd-scripts. With alpha_mask it is always kept."},
  };
}

std::vector<Option> mask_rows() {
  return {
      {.name = "alpha_mask",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Alpha is a mask",
       .help = "The transparency of pictures weighs the loss: what is transparent is not learned."},
      {.name = "masked_loss",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Masked loss",
       .help = "The loss is weighed by mask pictures (conditioning_data_dir): white is learned, black is not."},
      {.name = "conditioning_data_dir",
       .type = Type::Path,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .shown_if = "masked_loss",
       .label = "Mask pictures",
       .help =
           "The folder of mask pictures of masked_loss, each named and shaped like its picture; for several folders "
           "of pictures, with sub-folders of the same names.",
       .path = PathKind::Folder,
       .accepts_embedded = true},
      {.name = "masked_loss_normalize",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Expert,
       .label = "Even masks",
       .help = "Divides the loss of a masked picture by the mean of its mask, so that a small unmasked part counts as "
               "much as a whole picture. Otherwise it counts by its area, as in sd-scripts."},
  };
}

std::vector<Option> foreign_cache_rows() {
  return {
      {.name = "read_npz",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Read .npz caches",
       .help =
           "Uses latent caches of sd-scripts (.npz beside the pictures) where they fit the picture's size and bucket. "
           "Such files do not say which VAE they come from. Includes cache_latents."},
      {.name = "write_npz",
       .type = Type::Flag,
       .fallback = false,
       .group = kDatasetGroup,
       .level = Level::Advanced,
       .label = "Write .npz caches",
       .help = "Writes latents as .npz files beside the pictures, as sd-scripts reads them. Includes cache_latents."},
  };
}

}  // namespace

std::vector<Option> picture_options() {
  std::vector<Option> rows;
  for (const auto& part : {augmentation_rows(), mask_rows(), foreign_cache_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace cinnabar::schema
