#include "cinnabar/train/foreign_state.h"

#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"

namespace cinnabar::train {

std::optional<ForeignState> foreign_state(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder / base::kManifestName, error)) return std::nullopt;
  const std::filesystem::path weights = folder / "model.safetensors";
  if (!std::filesystem::is_regular_file(weights, error)) return std::nullopt;
  ForeignState state{.weights = weights};
  const std::filesystem::path counters = folder / "train_state.json";
  if (!std::filesystem::exists(counters, error)) return state;
  const nlohmann::json json = nlohmann::json::parse(base::read_file(counters, size_t{1} << 20), nullptr, false);
  if (!json.is_object()) {
    throw base::Error(base::ErrorCode::Format, counters.string() + " is no JSON object; the state is damaged");
  }
  const auto whole = [&](const char* name) -> std::optional<int64_t> {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<int64_t>();
  };
  state.step = whole("current_step");
  state.epoch = whole("current_epoch");
  return state;
}

}  // namespace cinnabar::train
