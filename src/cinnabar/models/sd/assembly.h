// The last steps of loading a Stable Diffusion 1 or 2 model: from the configuration that the file gave to the filled
// model.
#pragma once

#include <memory>

#include "cinnabar/models/sd/loading.h"
#include "cinnabar/models/sd/sd_model.h"

namespace cinnabar::models::sd {

// Empty modules of these sizes.
SdParts make_parts(const SdConfig& config);

// The model with its weights, or with weights that come at their first use (LoadOptions::is_lazy). `text.file_prefix`
// is where `views` has the text encoder. Throws Error{Format} when tensors are missing, left over or do not fit.
std::unique_ptr<DiffusionModel> assemble(const formats::Checkpoint& checkpoint, const NamedViews& views,
                                         const VaeSource& vae, const SdConfig& config, ModelInfo info, SdText text,
                                         const LoadOptions& options);

}  // namespace cinnabar::models::sd
