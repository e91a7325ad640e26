#include "cinnabar/train/run_facts.h"

#include <chrono>

#include "cinnabar/base/resources.h"
#include "cinnabar/data/batch_plan.h"
#include "cinnabar/optim/entry.h"
#include "cinnabar/train/run_data.h"

namespace cinnabar::train {

adapters::TrainingFacts training_facts(const RunParts& parts) {
  const models::ModelInfo& info = parts.base.model->info();
  adapters::TrainingFacts facts;
  facts.session_id = static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  facts.started_at_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::filesystem::path model =
      base::resolved(parts.values.text("pretrained_model_name_or_path"), "embedded/model.safetensors");
  facts.base_model = adapters::file_facts(model.string(), parts.base.files.hash_of(model));
  if (const auto vae = parts.values.maybe_text("vae"))
    facts.vae = adapters::file_facts(*vae, parts.base.files.hash_of(*vae));
  facts.base_model_version = info.base_model_version;
  facts.modelspec_architecture = info.modelspec_architecture;
  facts.modelspec_implementation = info.modelspec_implementation;
  const std::string optimizer = optim::entry_name(parts.values.maybe_text("optimizer_type").value_or(""));
  facts.optimizer_class = optim::entries().at(optimizer).reference_class;
  facts.has_dataset_config = parts.values.has("dataset_config");
  facts.is_velocity = info.objective == models::Objective::Velocity;
  facts.validation_images = parts.validation_images;
  facts.batches_per_epoch = data::batch_count(parts.datasets);
  facts.epochs = parts.plan.epochs;
  facts.max_train_steps = parts.plan.max_train_steps;
  for (const data::Dataset& dataset : parts.datasets) facts.datasets.push_back(facts_of(dataset));
  return facts;
}

plan::SaveOptions save_options(const schema::Values& values) {
  plan::SaveOptions options;
  options.output_name = values.maybe_text("output_name");
  options.save_every_n_epochs = values.maybe_integer("save_every_n_epochs");
  options.save_every_n_steps = values.maybe_integer("save_every_n_steps");
  options.save_n_epoch_ratio = values.maybe_integer("save_n_epoch_ratio");
  options.save_last_n_epochs = values.maybe_integer("save_last_n_epochs");
  options.save_last_n_steps = values.maybe_integer("save_last_n_steps");
  options.save_last_n_epochs_state = values.maybe_integer("save_last_n_epochs_state");
  options.save_last_n_steps_state = values.maybe_integer("save_last_n_steps_state");
  return options;
}

sample::PictureFacts picture_facts(const schema::Values& values, const std::string& model_hash) {
  const std::filesystem::path path = values.text("pretrained_model_name_or_path");
  sample::PictureFacts facts;
  facts.model_name = path.stem().string();
  facts.model_hash = model_hash.substr(0, 10);
  facts.clip_skip = values.maybe_integer("clip_skip").value_or(1);
  return facts;
}

}  // namespace cinnabar::train
