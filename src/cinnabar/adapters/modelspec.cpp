#include <ctime>

#include "cinnabar/adapters/metadata.h"
#include "cinnabar/adapters/python_text.h"
#include "cinnabar/base/local_time.h"

namespace cinnabar::adapters {

namespace {

// Local time without zone, whole seconds.
std::string iso_time(double unix_s) { return base::local_time("%Y-%m-%dT%H:%M:%S", static_cast<std::time_t>(unix_s)); }

}  // namespace

Metadata modelspec_metadata(const TrainingFacts& facts, const schema::Values& values, const std::string& kind,
                            double saved_at_s) {
  const auto key = [](const std::string& name) { return "modelspec." + name; };
  Metadata metadata{
      {key("sai_model_spec"), "1.0.1"},
      {key("architecture"), facts.modelspec_architecture + "/" + kind},
      {key("implementation"), facts.modelspec_implementation},
      {key("implementation_version"), "cinnabar/" CINNABAR_VERSION},
      {key("date"), iso_time(saved_at_s)},
      {key("prediction_type"), facts.is_velocity ? "v" : "epsilon"},
  };
  if (!facts.datasets.empty()) {
    metadata[key("resolution")] =
        std::to_string(facts.datasets.front().width_px) + "x" + std::to_string(facts.datasets.front().height_px);
  }
  std::string title = values.maybe_text("metadata_title").value_or(values.maybe_text("output_name").value_or(""));
  if (title.empty()) title = "LoRA@" + python_float(saved_at_s);
  metadata[key("title")] = title;
  for (const char* name : {"author", "description", "license", "tags", "usage_hint", "thumbnail", "merged_from",
                           "trigger_phrase", "preprocessor", "is_negative_embedding"}) {
    const schema::Value& value = values.raw(std::string("metadata_") + name);
    if (value.index() != 0) metadata[key(name)] = python_str(value);
  }
  if (const auto clip_skip = values.maybe_integer("clip_skip"))
    metadata[key("encoder_layer")] = std::to_string(*clip_skip);
  const auto low = values.maybe_integer("min_timestep");
  const auto high = values.maybe_integer("max_timestep");
  if (low || high)
    metadata[key("timestep_range")] = std::to_string(low.value_or(0)) + "," + std::to_string(high.value_or(1000));
  return metadata;
}

}  // namespace cinnabar::adapters
