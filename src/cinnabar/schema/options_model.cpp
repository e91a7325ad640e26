#include "cinnabar/schema/option_groups.h"

namespace cinnabar::schema {

std::vector<Option> model_options() {
  const char* group = "Model";
  return {
      {.name = "pretrained_model_name_or_path",
       .aliases = {"model", "ckpt"},
       .type = Type::Path,
       .group = group,
       .label = "Base model",
       .help =
           "The base model: a .safetensors or .ckpt file, a diffusers folder, or the word embedded for the small model "
           "that comes with the program. The family and its sizes are found from the file.",
       .path = PathKind::FileOrFolder,
       .accepts_embedded = true},
      {.name = "vae",
       .type = Type::Path,
       .group = group,
       .level = Level::Advanced,
       .label = "VAE",
       .help = "Another autoencoder (file or diffusers folder) in place of the one in the base model.",
       .path = PathKind::FileOrFolder},
      {.name = "v_parameterization",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Advanced,
       .label = "v-prediction",
       .help = "The base model predicts the velocity. Needed only when the file does not say so; a disagreement is "
               "reported."},
      {.name = "v2",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Expert,
       .label = "SD 2",
       .help = "Says that the base model is Stable Diffusion 2. Not needed: the family is found from the file, and a "
               "disagreement is reported."},
      {.name = "sdscripts_text_projection",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Expert,
       .label = "Text projection of sd-scripts",
       .help = "SDXL single files: uses the projection of pooled text as sd-scripts does, transposed against what "
               "open_clip stored and image programs use. For comparison with models trained there."},
      {.name = "allow_nonfinite",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Expert,
       .label = "Allow NaN in files",
       .help = "Goes on, with a warning, with base models and adapter files that hold NaN or infinite values. Without "
               "it they are refused, since what is trained on them is worthless."},
      {.name = "clip_skip",
       .type = Type::Int,
       .range = {{1, 12}},
       .typical = {{1, 2}},
       .group = group,
       .level = Level::Advanced,
       .label = "CLIP skip",
       .help = "Takes the text encoder's n-th last layer, followed by its final norm; 1 is the last one. No effect "
               "on SDXL."},
      {.name = "max_token_length",
       .type = Type::Int,
       .choices = {"75", "150", "225"},
       .group = group,
       .level = Level::Advanced,
       .unit = "tokens",
       .label = "Caption length",
       .help =
           "How many tokens of a caption count. Above 75 the caption is encoded in chunks of 75; the default is 75."},
  };
}

}  // namespace cinnabar::schema
