#include "cinnabar/schema/option_groups.h"

namespace cinnabar::schema {

std::vector<Option> training_options() {
  const char* group = "Training";
  return {
      {.name = "max_train_steps",
       .type = Type::Int,
       .fallback = 1600,
       .range = {{1, 1e15}},
       .typical = {{500, 5000}},
       .group = group,
       .unit = "steps",
       .label = "Steps",
       .help = "How many optimizer steps the run takes."},
      {.name = "max_train_epochs",
       .type = Type::Int,
       .range = {{1, 1e15}},
       .typical = {{1, 20}},
       .group = group,
       .unit = "epochs",
       .label = "Epochs",
       .help = "How many times the run goes through all pictures. Counts in place of max_train_steps."},
      {.name = "seed",
       .type = Type::Int,
       .range = {{0, 4294967295}},
       .group = group,
       .label = "Seed",
       .help =
           "The seed of everything random. The same seed and settings give the same file; the default is a random one, "
           "which is recorded."},
      {.name = "mixed_precision",
       .type = Type::Text,
       .fallback = "no",
       .choices = {"no", "fp16", "bf16"},
       .group = group,
       .label = "Mixed precision",
       .help =
           "The number format of the frozen model and of most arithmetic: no is float32. Trained values stay float32. "
           "With fp16 the loss is scaled so that small gradients do not vanish."},
      {.name = "full_fp16",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Expert,
       .shown_if = "mixed_precision == fp16",
       .label = "Weights and gradients in fp16",
       .help = "Trained weights and their gradients are float16, too. Less exact; needs mixed_precision fp16."},
      {.name = "full_bf16",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Expert,
       .shown_if = "mixed_precision == bf16",
       .label = "Weights and gradients in bf16",
       .help = "Trained weights and their gradients are bfloat16, too. Less exact; needs mixed_precision bf16."},
      {.name = "gradient_checkpointing",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .label = "Gradient checkpointing",
       .help =
           "Computes intermediate values twice instead of keeping them: less memory, about a third more time, and the "
           "same numbers."},
      {.name = "profile_steps",
       .type = Type::Int,
       .range = {{1, 1e6}},
       .group = group,
       .level = Level::Advanced,
       .unit = "steps",
       .label = "Profile",
       .help = "Measures where the time of so many steps goes, from the second one on: by phase and by operator of the "
               "library. Told at the end of these steps, and written to profile.json in the run's record."},
      {.name = "lowram",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Advanced,
       .label = "Low memory on the CPU",
       .help =
           "Trains on the CPU in about half the memory: intermediate values are computed twice, and the base model "
           "keeps the type that it has in its file. Same numbers, longer steps. On a GPU models are loaded straight "
           "into its memory in any case."},
      {.name = "micro_batch_size",
       .type = Type::Int,
       .range = {{1, 1e6}},
       .group = group,
       .level = Level::Advanced,
       .unit = "pictures",
       .label = "Pictures at a time",
       .help = "Computes each batch in parts of so many pictures: less memory, and the same pictures, noise and steps; "
               "sums "
               "differ in their last digits. The default is the whole batch."},
      {.name = "oom",
       .type = Type::Text,
       .fallback = "split",
       .choices = {"split", "stop"},
       .group = group,
       .level = Level::Advanced,
       .label = "When memory runs out",
       .help =
           "split tries the step again, then computes batches in smaller parts (micro_batch_size); stop saves and ends "
           "the run at once."},
      {.name = "stop_after_bad_steps",
       .type = Type::Int,
       .fallback = 3,
       .range = {{1, 1e6}},
       .group = group,
       .level = Level::Advanced,
       .unit = "steps",
       .label = "Bad steps until the end",
       .help =
           "Ends the run after so many steps in succession whose loss or gradient is no finite number. Such steps are "
           "left out, and what was saved before is kept."},
      {.name = "step_timeout",
       .type = Type::Float,
       .fallback = 120.0,
       .range = {{0, 1e9}},
       .group = group,
       .level = Level::Expert,
       .unit = "seconds",
       .label = "Longest step",
       .help =
           "Ends the run when a step takes longer than this and than ten times the usual: a device or a disk no longer "
           "answers. What was saved is kept. 0 waits without end."},
      {.name = "no_half_vae",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Advanced,
       .label = "VAE in float32",
       .help = "Keeps the autoencoder in float32 whatever mixed_precision says."},
  };
}

std::vector<Option> validation_options() {
  const char* group = "Validation";
  return {
      {.name = "validation_split",
       .type = Type::Float,
       .fallback = 0.0,
       .range = {{0, 1}},
       .typical = {{0.05, 0.2}},
       .group = group,
       .label = "Share held out",
       .help =
           "The share of each folder's pictures that is not trained but used to measure the loss on unseen pictures; "
           "0 is none."},
      {.name = "validation_seed",
       .type = Type::Int,
       .range = {{0, 4294967295}},
       .group = group,
       .level = Level::Advanced,
       .shown_if = "validation_split > 0 or dataset_config",
       .label = "Validation seed",
       .help = "Chooses the pictures that are held out and their noise; the default is the seed of the run."},
      {.name = "validate_every_n_steps",
       .type = Type::Int,
       .range = {{1, 1e15}},
       .typical = {{50, 500}},
       .group = group,
       .unit = "steps",
       .shown_if = "validation_split > 0 or dataset_config",
       .label = "Validate every N steps",
       .help = "Measures the held-out loss every N steps, beside the measurements at the end of epochs."},
      {.name = "validate_every_n_epochs",
       .type = Type::Int,
       .range = {{1, 1e15}},
       .group = group,
       .unit = "epochs",
       .shown_if = "validation_split > 0 or dataset_config",
       .label = "Validate every N epochs",
       .help = "Measures the held-out loss at the end of every N-th epoch; the default is every epoch."},
      {.name = "max_validation_steps",
       .type = Type::Int,
       .range = {{1, 1e15}},
       .group = group,
       .level = Level::Advanced,
       .unit = "batches",
       .shown_if = "validation_split > 0 or dataset_config",
       .label = "Validation batches",
       .help = "Measures on at most this many batches, always the same ones; the default is all."},
  };
}

std::vector<Option> hardware_options() {
  const char* group = "Hardware";
  return {
      {.name = "device",
       .type = Type::Text,
       .fallback = "auto",
       .group = group,
       .label = "Device",
       .help = "Where to compute: auto takes the first GPU that works, else the CPU; cpu, gpu or gpu:N say which one."},
      {.name = "threads",
       .aliases = {"num_cpu_threads_per_process"},
       .type = Type::Int,
       .fallback = 0,
       .range = {{0, 1024}},
       .group = group,
       .level = Level::Advanced,
       .label = "Threads",
       .help = "How many processor threads compute; 0 means all cores that this program may use."},
      {.name = "mem_eff_attn",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Advanced,
       .label = "Attention in pieces",
       .help = "Takes attention in pieces even where a GPU has a fused kernel: little memory, more time. Without it "
               "the best "
               "kernel for chip and libtorch is chosen. No effect on the CPU."},
  };
}

std::vector<Option> machine_options() {
  const char* group = "Hardware";
  return {
      {.name = "auto",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .label = "Fit the machine",
       .help = "Takes batch, accumulation, precision and what saves memory from the advice for this machine (cinnabar "
               "doctor shows it), for every option that is not given. What was taken is told and recorded.",
       .is_for_front = true},
      {.name = "max_temperature",
       .type = Type::Float,
       .fallback = 0.0,
       .range = {{0, 150}},
       .typical = {{80, 95}},
       .group = group,
       .level = Level::Advanced,
       .unit = "C",
       .label = "Temperature limit",
       .help =
           "Pauses between steps while the device that trains is hotter (edge sensor), until it is 10 C below. 0: no "
           "limit."},
      {.name = "telemetry_interval",
       .type = Type::Float,
       .fallback = 5.0,
       .range = {{0, 3600}},
       .group = group,
       .level = Level::Advanced,
       .unit = "s",
       .label = "Sensor interval",
       .help =
           "How often use, memory, temperature, power and clocks are read for events, records and the progress line. "
           "0: never."},
  };
}

std::vector<Option> logging_options() {
  const char* group = "Logging";
  return {
      {.name = "logging_dir",
       .type = Type::Path,
       .group = group,
       .label = "Log folder",
       .help = "Writes TensorBoard event files into a dated folder below this one."},
      {.name = "log_with",
       .type = Type::Text,
       .choices = {"tensorboard"},
       .group = group,
       .level = Level::Advanced,
       .label = "Tracker",
       .help = "The kind of log; tensorboard when logging_dir is given."},
      {.name = "log_prefix",
       .type = Type::Text,
       .group = group,
       .level = Level::Advanced,
       .shown_if = "logging_dir",
       .label = "Log name",
       .help = "The first part of the name of the dated log folder."},
  };
}

std::vector<Option> program_options() {
  const char* group = "Program";
  return {
      {.name = "config_file",
       .type = Type::Path,
       .group = group,
       .label = "Configuration",
       .help =
           "A TOML file with any of these options, a kohya_ss GUI JSON, or a configuration that this program wrote. "
           "The command line counts over the file. May stand without its name.",
       .path = PathKind::File,
       .is_positional = true,
       .is_for_front = true},
      {.name = "output_config",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Advanced,
       .label = "Write configuration",
       .help = "Writes the resolved options as TOML and ends: train gui.json --output_config new.toml. Without a name "
               "after "
               "it, config_file is what is written, as in sd-scripts. The file must not exist yet.",
       .is_for_front = true},
      {.name = "workspace",
       .type = Type::Path,
       .group = group,
       .level = Level::Advanced,
       .label = "Workspace",
       .help = "The folder of run records; the default is cinnabar in $XDG_DATA_HOME (or ~/.local/share).",
       .is_for_front = true},
      {.name = "json",
       .type = Type::Flag,
       .fallback = false,
       .group = group,
       .level = Level::Advanced,
       .label = "Events as JSON",
       .help = "Prints every event as a line of JSON on standard output instead of a progress line.",
       .is_for_front = true},
  };
}

}  // namespace cinnabar::schema
