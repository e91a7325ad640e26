// What files, previews and save points of a run need to know of it.
#pragma once

#include "cinnabar/adapters/metadata.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/plan/steps.h"
#include "cinnabar/sample/preview.h"
#include "cinnabar/schema/values.h"
#include "cinnabar/train/loaded_model.h"

namespace cinnabar::train {

struct RunParts {
  const schema::Values& values;
  const LoadedModel& base;
  const std::vector<data::Dataset>& datasets;
  const plan::StepPlan& plan;
  int64_t validation_images = 0;
};

adapters::TrainingFacts training_facts(const RunParts& parts);

plan::SaveOptions save_options(const schema::Values& values);

// What the text in preview pictures says about the model; the network under training has no file yet.
sample::PictureFacts picture_facts(const schema::Values& values, const std::string& model_hash);

}  // namespace cinnabar::train
