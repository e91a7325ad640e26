// State folders of sd-scripts (accelerate): what can be taken from them.
#pragma once

#include <filesystem>
#include <optional>

namespace cinnabar::train {

struct ForeignState {
  std::filesystem::path weights;  // model.safetensors: the network alone
  std::optional<int64_t> step{};  // current_step of train_state.json
  std::optional<int64_t> epoch{};
};

// Nothing when the folder does not look like one of sd-scripts. Its optimizer moments, schedule and random generators
// are Python pickles of another program's classes and are not read.
std::optional<ForeignState> foreign_state(const std::filesystem::path& folder);

}  // namespace cinnabar::train
