#include <ATen/core/Tensor.h>

#include <filesystem>

#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/tensor/dtype.h"
#include "cinnabar/worker/command.h"

namespace cinnabar::worker {

namespace {

int init_model_command(const schema::Values& values, base::EventSink& events, const std::atomic<bool>&) {
  const std::string family = values.text("family");
  const models::ModelFamily& entry = models::model_families().at(family);
  events.phase("Making a " + values.text("size") + " model of the family " + family + ".");
  const std::unique_ptr<models::DiffusionModel> model =
      entry.create({.size = values.text("size"), .seed = static_cast<uint64_t>(values.integer("seed"))});
  const at::ScalarType type = tensor::precision_from(values.text("save_precision"));
  std::vector<at::Tensor> kept;
  std::vector<formats::NamedTensor> tensors;
  for (const auto& [name, value] : models::file_tensors(*model)) {
    // Integer buffers (position ids) keep their type.
    const at::Tensor plain = value.detach().to(at::kCPU);
    kept.push_back((plain.is_floating_point() ? plain.to(type) : plain).contiguous());
    tensors.push_back({name, tensor::view_of(kept.back())});
  }
  const std::filesystem::path output = values.text("output");
  if (output.has_parent_path()) std::filesystem::create_directories(output.parent_path());
  // Loading takes the size of pictures from here, since no tensor tells it.
  const std::string side = std::to_string(model->info().native_side_px);
  formats::write_safetensors(output, std::move(tensors),
                             {{"format", "pt"}, {"modelspec.resolution", side + "x" + side}});
  events.saved(output, "model", 0);
  return 0;
}

CINNABAR_REGISTER_WORKER_COMMAND(init_model, {.run = init_model_command});

}  // namespace

}  // namespace cinnabar::worker
