#include "cinnabar/models/model_family.h"

namespace cinnabar::models {

std::vector<std::pair<std::string, at::Tensor>> state_tensors(DiffusionModel& model) {
  std::vector<std::pair<std::string, at::Tensor>> result;
  const auto gather = [&](const ModelPart& part) {
    part.module->each_parameter(
        "", [&](const std::string& name, at::Tensor& value) { result.emplace_back(part.file_prefix + name, value); });
  };
  for (const ModelPart& part : model.parts()) gather(part);
  if (const std::optional<ModelPart> vae = model.vae_part()) gather(*vae);
  return result;
}

}  // namespace cinnabar::models
