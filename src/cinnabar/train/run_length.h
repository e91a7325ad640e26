// How many steps a run has, and the arithmetic behind it.
#pragma once

#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/plan/steps.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// From max_train_steps or max_train_epochs, gradient_accumulation_steps and the batches of the data sets. Epochs whose
// regularisation pictures change may differ in length; they are counted one by one. Throws Error{Config} when there are
// no batches.
plan::StepPlan plan_run(const std::vector<data::Dataset>& datasets, const schema::Values& values);

// Sentences that show how pictures and repeats become steps.
std::vector<std::string> length_text(const std::vector<data::Dataset>& datasets, const schema::Values& values,
                                     const plan::StepPlan& plan);

}  // namespace cinnabar::train
