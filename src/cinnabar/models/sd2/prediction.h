// Which prediction type the weights of an SD 2 model look like.
#pragma once

#include <optional>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/named_views.h"

namespace cinnabar::models::sd2 {

// In the published v models the biases of one norm vary more than in those that predict the noise (ComfyUI looks at the
// same). Nothing for models of other sizes.
std::optional<bool> looks_like_velocity(const NamedViews& views);

// Completes `info` after set_objective: the weights' look counts where neither file nor user says something; a
// disagreement with the user is noted. Sets what the metadata and sizes of v models are.
void read_prediction(ModelInfo& info, const NamedViews& views, const LoadOptions& options);

}  // namespace cinnabar::models::sd2
