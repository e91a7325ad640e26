// Which build of libtorch set-up takes for a machine, and what goes with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/environment.h"
#include "cinnabar/hardware/setup_tables.h"
#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

struct SetupPlan {
  std::string build;                              // rocm, cuda, cpu
  std::string version;                            // "2.13.0+rocm7.2"
  std::string reason;                             // why this one
  std::string download;                           // what would be fetched, and how large it is
  std::vector<TorchSource> sources{};             // where from, in the order of trying
  std::vector<EnvironmentSetting> environment{};  // of the engine's process, with this build
  std::vector<std::string> warnings{};            // what stands in the way, each with what to do
  bool is_covered = true;                         // the GPU's chip has kernels in this build, as it is
};

// `forced`: the build that the user asked for; none: what fits the machine.
SetupPlan plan_setup(const Sources& sources, const std::optional<std::string>& forced);

std::string plan_text(const SetupPlan& plan);
std::string plan_json(const SetupPlan& plan);

}  // namespace cinnabar::hardware
