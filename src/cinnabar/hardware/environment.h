// Safe variables for the engine's process on a GPU, each with its reason. The user's own values win.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/machine.h"

namespace cinnabar::hardware {

struct EnvironmentSetting {
  std::string name;
  std::optional<std::string> value{};  // empty: the variable is taken out
  std::string reason;
  bool is_users = false;  // the user set it: it stays as it is
};

// As doctor shows the folder, instead of a path of the user.
inline constexpr const char* kShownCache = "$XDG_CACHE_HOME/cinnabar";

// `cache_folder`: where compiled kernels are kept, e.g. ~/.cache/cinnabar. Empty for the CPU build of libtorch.
std::vector<EnvironmentSetting> environment_settings(const Machine& machine, const std::string& cache_folder);

}  // namespace cinnabar::hardware
