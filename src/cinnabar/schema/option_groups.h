// The core rows, one function a group. A command's schema is a list of groups; entries of registries bring their own
// rows.
#pragma once

#include <vector>

#include "cinnabar/schema/option.h"
#include "cinnabar/schema/schema.h"

namespace cinnabar::schema {

// Rows of pictures stand beside those of the data set.
inline constexpr const char* kDatasetGroup = "Data set";

std::vector<Option> model_options();
std::vector<Option> dataset_options();
std::vector<Option> caption_options();
std::vector<Option> network_options();
std::vector<Option> optimizer_options();
std::vector<Option> learning_rate_options();
std::vector<Option> loss_options();
std::vector<Option> picture_options();
std::vector<Option> training_options();
std::vector<Option> validation_options();
std::vector<Option> saving_options();
std::vector<Option> metadata_options();
std::vector<Option> preview_options();
std::vector<Option> logging_options();
std::vector<Option> hardware_options();
// Advice, temperature limit and sensors of a training run.
std::vector<Option> machine_options();
// Where the run record goes and how events are shown: read by the starting program.
std::vector<Option> program_options();

std::vector<Option> sample_options();
std::vector<Option> cache_options();
std::vector<Option> init_model_options();
std::vector<Option> demo_options();

// The commands that start a worker, without the rows of registries.
Schema train_schema();
Schema sample_schema();
Schema cache_schema();
Schema init_model_schema();
Schema demo_schema();

}  // namespace cinnabar::schema
