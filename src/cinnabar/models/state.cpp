#include "cinnabar/models/model_family.h"

namespace cinnabar::models {

Conditioning moved_to(const Conditioning& conditioning, at::Device device) {
  Conditioning moved = conditioning;
  for (at::Tensor* value : {&moved.context, &moved.pooled, &moved.mask, &moved.vector, &moved.sizes}) {
    if (value->defined()) *value = value->to(device);
  }
  return moved;
}

NamedTensors file_tensors(DiffusionModel& model) {
  NamedTensors result = state_tensors(model);
  for (auto& [name, value] : result) value = value.contiguous();  // convolutions may be channels last
  model.to_file_layout(result);
  return result;
}

NamedTensors state_tensors(DiffusionModel& model) {
  NamedTensors result;
  const auto gather = [&](const ModelPart& part) {
    part.module->each_parameter(
        "", [&](const std::string& name, at::Tensor& value) { result.emplace_back(part.file_prefix + name, value); });
  };
  for (const ModelPart& part : model.parts()) gather(part);
  if (const std::optional<ModelPart> vae = model.vae_part()) gather(*vae);
  return result;
}

}  // namespace cinnabar::models
