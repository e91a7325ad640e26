#include "cinnabar/train/network_setup.h"

#include "cinnabar/base/counted.h"
#include "cinnabar/base/error.h"
#include "cinnabar/train/network_source.h"

namespace cinnabar::train {

std::unique_ptr<adapters::AdapterSet> attach_network(const schema::Values& values, LoadedModel& base, uint64_t seed,
                                                     base::EventSink& events) {
  // Adapters may look at the weights that they attach to; without adapters on them, text encoders can wait.
  if (!values.flag("network_train_unet_only") || !values.texts("base_weights").empty()) (void)base.model->parts();
  merge_base_weights(values, base, events);
  auto set = make_network(values, base, seed, events);
  const bool has_checkpoints = values.flag("gradient_checkpointing") || is_low_memory(values, base.device);
  base.model->each_part([&](nn::Module& part) {
    part.train(true);
    part.set_checkpointing(has_checkpoints);
  });
  return set;
}

bool gather_parameters(const schema::Values& values, const LoadedModel& base, adapters::AdapterSet& set,
                       optim::FlatParameters& parameters, base::EventSink& events) {
  const models::TextOptions text{.clip_skip = values.maybe_integer("clip_skip").value_or(0)};
  if (values.flag("full_fp16")) parameters.set_stored_type(at::kHalf);
  if (values.flag("full_bf16")) parameters.set_stored_type(at::kBFloat16);
  const size_t rates = values.numbers("text_encoder_lr").size();
  if (const size_t encoders = set.text_encoder_count(); encoders > 0 && rates > encoders) {
    events.warning("text_encoder_lr has " + std::to_string(rates) + " values, but the model has " +
                   base::counted(encoders, "text encoder") + "; the others are not used");
  }
  set.freeze([&](const models::AdapterTarget& target) { return !base.model->uses(target, text); });
  bool is_text_trained = false;
  for (const adapters::ParameterGroup& group : set.parameter_groups(part_rates(values))) {
    optim::NamedTensors named;
    for (const adapters::NamedParameter& parameter : group.parameters) {
      named.emplace_back(parameter.name, *parameter.value);
      is_text_trained = is_text_trained || parameter.part != "unet";
    }
    parameters.add_group(group.label, group.lr, named);
  }
  const int64_t count = parameters.parameter_count();
  if (count == 0) {
    throw base::Error(
        base::ErrorCode::Config,
        "nothing would be trained: every learning rate is 0; set learning_rate, unet_lr or text_encoder_lr");
  }
  events.log("Training " + std::to_string(count) + " parameters in " + std::to_string(set.size()) + " layers.");
  return is_text_trained;
}

}  // namespace cinnabar::train
