// Options against the family of the model that was found: what they say too much or otherwise is reported.
#pragma once

#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

// Looks at v2 and clip_skip.
void check_family_options(const schema::Values& values, const models::ModelInfo& info, base::EventSink& events);

// Bucket steps that sd-scripts refuses for the family. They are trained as asked: the U-Nets here take any size.
void check_bucket_steps(const std::vector<data::Dataset>& datasets, const models::ModelInfo& info,
                        base::EventSink& events);

}  // namespace cinnabar::train
