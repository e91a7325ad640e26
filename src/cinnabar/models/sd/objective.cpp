#include <optional>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/models/sd/config.h"

namespace cinnabar::models::sd {

namespace {

Objective objective_from(const std::string& word, const std::string& where) {
  if (word == "v" || word == "v_prediction") return Objective::Velocity;
  if (word == "epsilon" || word == "eps") return Objective::Epsilon;
  throw base::Error(base::ErrorCode::Format,
                    where + ": prediction type \"" + word + "\": expected epsilon, v or v_prediction");
}

std::string to_text(Objective objective) { return objective == Objective::Velocity ? "v" : "epsilon"; }

// What the file says, and where it says it.
std::optional<std::pair<Objective, std::string>> stated_objective(const formats::Checkpoint& checkpoint,
                                                                  const SideSettings& settings) {
  const std::string file = checkpoint.path().string();
  if (const auto word = settings.text({"prediction_type", "scheduler.prediction_type"})) {
    return std::pair(objective_from(*word, "configuration of " + file), std::string("its configuration"));
  }
  if (checkpoint.find("v_pred") != nullptr)
    return std::pair(Objective::Velocity, std::string("the marker tensor v_pred"));
  for (const char* key : {"modelspec.prediction_type", "prediction_type"}) {
    const auto found = checkpoint.metadata().find(key);
    if (found == checkpoint.metadata().end()) continue;
    return std::pair(objective_from(found->second, "metadata of " + file), std::string("its metadata"));
  }
  return std::nullopt;
}

}  // namespace

void set_objective(ModelInfo& info, const formats::Checkpoint& checkpoint, const SideSettings& settings,
                   const LoadOptions& options) {
  const auto stated = stated_objective(checkpoint, settings);
  info.objective = stated ? stated->first : Objective::Epsilon;
  info.is_objective_stated = stated.has_value();
  if (stated && stated->first == Objective::Velocity)
    info.notes.push_back("v-prediction, as " + stated->second + " says");
  if (options.v_parameterization) {
    const Objective wanted = *options.v_parameterization ? Objective::Velocity : Objective::Epsilon;
    if (stated && wanted != stated->first) {
      info.notes.push_back("v_parameterization overrides the file: prediction type " + to_text(wanted) + ", but " +
                           stated->second + " says " + to_text(stated->first));
    }
    info.objective = wanted;
  }
  info.zero_terminal_snr = settings.flag({"zero_terminal_snr", "scheduler.rescale_betas_zero_snr"})
                               .value_or(checkpoint.find("ztsnr") != nullptr);
  if (info.zero_terminal_snr) info.notes.push_back("noise schedule with zero terminal SNR, as the file says");
  if (std::string unused = settings.unused_text(); !unused.empty()) info.notes.push_back(std::move(unused));
}

}  // namespace cinnabar::models::sd
