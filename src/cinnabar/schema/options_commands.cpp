#include "cinnabar/schema/option_groups.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "cinnabar/base/error.h"

namespace cinnabar::schema {

namespace {

// Rows that a command shares with training, so that a name means the same everywhere.
std::vector<Option> only(const std::vector<Option>& rows, std::initializer_list<std::string_view> names) {
  std::vector<Option> result;
  for (const std::string_view name : names) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Option& row) { return row.name == name; });
    CINNABAR_ASSERT(found != rows.end());
    result.push_back(*found);
  }
  return result;
}

Option side(const char* name, const char* alias, const char* label, const char* help) {
  return {.name = name,
          .aliases = {alias},
          .type = Type::Int,
          .range = {{64, 8192}},
          .typical = {{512, 1024}},
          .group = "Picture",
          .unit = "px",
          .label = label,
          .help = help};
}

}  // namespace

std::vector<Option> sample_options() {
  const char* group = "Picture";
  return {
      {.name = "prompt",
       .type = Type::TextList,
       .group = group,
       .label = "Prompt",
       .help =
           "What the picture shows. Several prompts make several pictures; each may carry the flags of prompt files.",
       .is_repeatable = true},
      {.name = "negative_prompt",
       .type = Type::Text,
       .fallback = "",
       .group = group,
       .label = "Negative prompt",
       .help = "What the picture does not show."},
      {.name = "prompt_file",
       .aliases = {"from_file", "sample_prompts"},
       .type = Type::Path,
       .group = group,
       .label = "Prompt file",
       .help = "A file of prompts (.txt, .toml or .json), as for preview pictures.",
       .path = PathKind::File},
      side("width", "W", "Width", "The width; the default is the model's own size. Rounded down to a multiple of 8."),
      side("height", "H", "Height",
           "The height; the default is the model's own size. Rounded down to a multiple of 8."),
      {.name = "sample_steps",
       .aliases = {"steps"},
       .type = Type::Int,
       .fallback = 30,
       .range = {{1, 1000}},
       .typical = {{15, 50}},
       .group = group,
       .label = "Steps",
       .help = "How many steps lead from noise to the picture."},
      {.name = "scale",
       .aliases = {"cfg_scale"},
       .type = Type::Float,
       .fallback = 7.5,
       .range = {{0, 100}},
       .typical = {{1, 12}},
       .group = group,
       .label = "Guidance",
       .help = "How strongly the picture follows the prompt; 1 turns the negative prompt off."},
      {.name = "sample_sampler",
       .aliases = {"sampler"},
       .type = Type::Text,
       .fallback = "ddim",
       .group = group,
       .label = "Sampler",
       .help = "How pictures are made from noise."},
      {.name = "seed",
       .type = Type::Int,
       .range = {{0, 4294967295}},
       .group = group,
       .label = "Seed",
       .help = "The seed of the first picture; each further one adds 1. The default is a random one."},
      {.name = "images_per_prompt",
       .aliases = {"count"},
       .type = Type::Int,
       .fallback = 1,
       .range = {{1, 10000}},
       .typical = {{1, 8}},
       .group = group,
       .label = "Pictures a prompt",
       .help = "How many pictures each prompt makes."},
      {.name = "batch_size",
       .type = Type::Int,
       .fallback = 1,
       .range = {{1, 1024}},
       .group = group,
       .level = Level::Advanced,
       .label = "Batch size",
       .help = "How many pictures are computed at once."},
      {.name = "lora",
       .aliases = {"network_weights"},
       .type = Type::TextList,
       .group = "Model",
       .label = "LoRA files",
       .help = "Adapter files with their weights, FILE or FILE:WEIGHT (dog.safetensors:0.8); the weight is 1 when left "
               "out.",
       .is_repeatable = true},
      {.name = "output_dir",
       .aliases = {"outdir"},
       .type = Type::Path,
       .fallback = "output",
       .group = "Output",
       .label = "Output folder",
       .help = "The folder of the pictures. It is made when missing."},
      {.name = "output_name",
       .type = Type::Text,
       .fallback = "sample",
       .group = "Output",
       .label = "Name",
       .help = "The first part of the names of the pictures."},
      {.name = "grid",
       .type = Type::Flag,
       .fallback = false,
       .group = "Output",
       .label = "Grid",
       .help = "Also writes all pictures of the run side by side as one PNG."},
  };
}

std::vector<Option> cache_options() { return {}; }

std::vector<Option> init_model_options() {
  const char* group = "Model";
  return {
      {.name = "output",
       .type = Type::Path,
       .group = group,
       .label = "Output file",
       .help = "The .safetensors file to write. May stand without its name.",
       .is_positional = true},
      {.name = "family",
       .type = Type::Text,
       .fallback = "sd1",
       .group = group,
       .label = "Family",
       .help = "The model family."},
      {.name = "size",
       .type = Type::Text,
       .fallback = "tiny",
       .choices = {"tiny", "full"},
       .group = group,
       .label = "Size",
       .help = "The sizes: tiny for tests, full as the published models."},
      {.name = "seed",
       .type = Type::Int,
       .fallback = 0,
       .range = {{0, 4294967295}},
       .group = group,
       .label = "Seed",
       .help = "The seed of the random weights."},
      {.name = "save_precision",
       .type = Type::Text,
       .fallback = "fp16",
       .choices = {"float", "fp16", "bf16"},
       .group = group,
       .label = "Precision of the file",
       .help = "The number format in the file."},
  };
}

std::vector<Option> demo_options() {
  const char* group = "Demo";
  return {
      {.name = "output_dir",
       .type = Type::Path,
       .fallback = "demo",
       .group = group,
       .label = "Output folder",
       .help = "The folder of the LoRA and of the pictures before and after."},
      {.name = "quick",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .label = "Quick",
       .help = "Takes fewer and smaller steps: a test that everything works, with a weaker result."},
      {.name = "seed",
       .type = Type::Int,
       .fallback = 1,
       .range = {{0, 4294967295}},
       .group = group,
       .label = "Seed",
       .help = "The seed of everything random."},
  };
}

Schema train_schema() {
  return Schema({model_options(), dataset_options(), picture_options(), caption_options(), network_options(),
                 optimizer_options(), learning_rate_options(), training_options(), loss_options(), validation_options(),
                 saving_options(), metadata_options(), preview_options(), logging_options(), hardware_options(),
                 machine_options(), program_options()});
}

Schema sample_schema() {
  return Schema({model_options(), sample_options(), only(training_options(), {"mixed_precision", "no_half_vae"}),
                 hardware_options(), program_options()});
}

Schema cache_schema() {
  return Schema({model_options(), dataset_options(), picture_options(), caption_options(),
                 only(network_options(), {"network_train_unet_only"}),
                 only(training_options(), {"mixed_precision", "no_half_vae", "seed"}), hardware_options(),
                 program_options()});
}

Schema init_model_schema() { return Schema({init_model_options(), only(program_options(), {"workspace", "json"})}); }

Schema demo_schema() {
  return Schema({demo_options(), hardware_options(), only(program_options(), {"workspace", "json"})});
}

}  // namespace cinnabar::schema
