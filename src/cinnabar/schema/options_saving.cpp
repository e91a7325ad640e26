#include "cinnabar/schema/option_groups.h"

namespace cinnabar::schema {

namespace {

Option interval(const char* name, const char* group, const char* unit, const char* label, const char* help,
                const char* shown_if = "") {
  return {.name = name,
          .type = Type::Int,
          .range = {{1, 1e15}},
          .group = group,
          .unit = unit,
          .shown_if = shown_if,
          .label = label,
          .help = help};
}

Option metadata(const char* name, const char* label, const char* help) {
  return {
      .name = name, .type = Type::Text, .group = "Metadata", .level = Level::Advanced, .label = label, .help = help};
}

}  // namespace

std::vector<Option> saving_options() {
  const char* group = "Saving";
  return {
      {.name = "output_dir",
       .type = Type::Path,
       .fallback = "output",
       .group = group,
       .label = "Output folder",
       .help = "The folder of the files that the run makes. It is made when missing."},
      {.name = "output_name",
       .type = Type::Text,
       .fallback = "last",
       .group = group,
       .label = "Name",
       .help = "The name of the files, without extension."},
      {.name = "save_model_as",
       .type = Type::Text,
       .fallback = "safetensors",
       .choices = {"safetensors", "ckpt", "pt"},
       .group = group,
       .level = Level::Advanced,
       .label = "File format",
       .help = "The format of the files; ckpt and pt are torch.save files, which hold no metadata."},
      {.name = "save_precision",
       .type = Type::Text,
       .choices = {"float", "fp16", "bf16"},
       .group = group,
       .label = "Precision of files",
       .help = "The number format in the files; the default is the one that is trained in, float32."},
      interval("save_every_n_epochs", group, "epochs", "Save every epochs", "Saves after every n-th epoch."),
      interval("save_every_n_steps", group, "steps", "Save every steps", "Saves after every n-th step."),
      interval("save_n_epoch_ratio", group, "", "Number of saves", "Saves about so many times, at ends of epochs."),
      interval("save_last_n_epochs", group, "epochs", "Keep epochs",
               "Removes files of epochs that are further back than this many epochs.",
               "save_every_n_epochs or save_n_epoch_ratio"),
      interval("save_last_n_steps", group, "steps", "Keep steps",
               "Removes files of steps that are further back than this many steps.", "save_every_n_steps"),
      {.name = "save_state",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .label = "Save states",
       .help = "Saves beside each file, and at the end, a folder from which the run can go on exactly (resume). A run "
               "that is stopped saves one in any case."},
      {.name = "save_state_on_train_end",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Advanced,
       .label = "Save the last state",
       .help = "Saves a state at the end of the run alone."},
      interval("save_last_n_epochs_state", group, "epochs", "Keep states of epochs",
               "As save_last_n_epochs, for states alone.", "save_state"),
      interval("save_last_n_steps_state", group, "steps", "Keep states of steps",
               "As save_last_n_steps, for states alone.", "save_state"),
      {.name = "resume",
       .type = Type::Path,
       .group = group,
       .label = "Resume from",
       .help = "A saved state to go on from, auto for the newest complete one of this output_dir and output_name, or "
               "run:ID "
               "for the newest one there of that run (cinnabar runs list). Without one, auto starts from the beginning "
               "and newest is an error."},
      {.name = "train_more_steps",
       .type = Type::Int,
       .range = {{1, 1e15}},
       .group = group,
       .level = Level::Advanced,
       .unit = "steps",
       .label = "More steps",
       .help = "With resume: so many steps more than the state has, in place of max_train_steps in all."},
      {.name = "initial_step",
       .type = Type::Int,
       .range = {{0, 1e15}},
       .group = group,
       .level = Level::Expert,
       .unit = "steps",
       .label = "First step",
       .help = "Begins as if so many steps were done: in the numbers, the data and the learning rate."},
      {.name = "initial_epoch",
       .type = Type::Int,
       .range = {{1, 1e15}},
       .group = group,
       .level = Level::Expert,
       .unit = "epochs",
       .label = "First epoch",
       .help = "Begins with this epoch, counted from 1, as if those before were done."},
      {.name = "disk_wait_minutes",
       .type = Type::Float,
       .fallback = 15.0,
       .range = {{0, 1e6}},
       .group = group,
       .level = Level::Expert,
       .unit = "minutes",
       .label = "Wait for the disk",
       .help = "How long a run pauses and tries again when a save cannot be written, before it ends."},
  };
}

std::vector<Option> metadata_options() {
  return {
      metadata("training_comment", "Comment", "A comment that is kept in the file's metadata."),
      {.name = "no_metadata",
       .type = Type::Flag,
       .fallback = false,
       .group = "Metadata",
       .level = Level::Advanced,
       .label = "No metadata",
       .help = "Leaves the record of the training out of the file; what readers need stays."},
      metadata("metadata_title", "Title", "The title in the file's metadata; the default is output_name."),
      metadata("metadata_author", "Author", "The author in the file's metadata."),
      metadata("metadata_description", "Description", "The description in the file's metadata."),
      metadata("metadata_license", "Licence", "The licence in the file's metadata."),
      metadata("metadata_tags", "Tags", "The tags in the file's metadata, with commas between."),
      metadata("metadata_usage_hint", "Usage", "A hint for users in the file's metadata."),
      metadata("metadata_trigger_phrase", "Trigger words",
               "The words that call what was learnt, in the file's metadata."),
      metadata("metadata_thumbnail", "Thumbnail",
               "A small picture in the file's metadata: a PNG, JPEG, WebP or GIF file, or a data URL."),
      metadata("metadata_preprocessor", "Preprocessor", "The preprocessor in the file's metadata."),
      metadata("metadata_is_negative_embedding", "Negative",
               "Whether the file is meant for negative prompts (true or false), in its metadata."),
      metadata("metadata_merged_from", "Merged from",
               "The models that this one was merged from, in the file's metadata."),
  };
}

std::vector<Option> preview_options() {
  const char* group = "Preview pictures";
  return {
      {.name = "sample_prompts",
       .type = Type::Path,
       .group = group,
       .label = "Prompts",
       .help =
           "A file of prompts (.txt, .toml or .json) for pictures while training: a line a prompt, with flags such as "
           "--n negative, --w 512, --h 512, --s 30, --l 7.5, --d seed.",
       .path = PathKind::File},
      interval("sample_every_n_steps", group, "steps", "Every steps", "Makes pictures after every n-th step.",
               "sample_prompts"),
      interval("sample_every_n_epochs", group, "epochs", "Every epochs",
               "Makes pictures after every n-th epoch; counts over sample_every_n_steps.", "sample_prompts"),
      {.name = "sample_at_first",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .shown_if = "sample_prompts",
       .label = "Before training",
       .help = "Makes pictures before the first step, too."},
      {.name = "sample_sampler",
       .aliases = {"sampler"},
       .type = Type::Text,
       .fallback = "ddim",
       .group = group,
       .shown_if = "sample_prompts",
       .label = "Sampler",
       .help = "How pictures are made from noise."},
  };
}

}  // namespace cinnabar::schema
