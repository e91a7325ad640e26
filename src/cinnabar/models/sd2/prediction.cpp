#include "cinnabar/models/sd2/prediction.h"

#include <string>

#include <ATen/ops/std.h>

#include "cinnabar/models/sd/file_names.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::models::sd2 {

namespace {

const std::string kTellingName = sd::kUNetPrefix + "output_blocks.11.1.transformer_blocks.0.norm1.bias";
constexpr int64_t kTellingWidth = 320;
constexpr double kBoundary = 0.09;  // of the standard deviation

}  // namespace

std::optional<bool> looks_like_velocity(const NamedViews& views) {
  const auto found = views.find(kTellingName);
  if (found == views.end() || found->second.shape != std::vector<int64_t>{kTellingWidth}) return std::nullopt;
  return at::std(tensor::copy(found->second, at::kFloat), false).item<double>() > kBoundary;
}

void read_prediction(ModelInfo& info, const NamedViews& views, const LoadOptions& options) {
  const std::optional<bool> is_velocity = looks_like_velocity(views);
  if (!info.is_objective_stated && is_velocity) {
    const Objective found = *is_velocity ? Objective::Velocity : Objective::Epsilon;
    if (!options.v_parameterization) {
      info.objective = found;
      if (*is_velocity) info.notes.push_back("v-prediction, as the weights look like it");
    } else if (found != info.objective) {
      info.notes.push_back(std::string("v_parameterization is followed, though the weights look like ") +
                           (*is_velocity ? "v" : "epsilon") + "-prediction");
    }
  }
  if (info.objective != Objective::Velocity) return;
  info.base_model_version += "_v";  // as sd-scripts names such files
  info.modelspec_architecture = "stable-diffusion-v2-768-v";
  info.native_side_px = 768;
}

}  // namespace cinnabar::models::sd2
