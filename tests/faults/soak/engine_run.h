// Trainings inside this process, on a tiny model.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/base/error.h"
#include "faults/soak/material.h"

namespace cinnabar::soak {

struct EngineRun {
  std::map<int64_t, double> losses;  // by step
  std::vector<std::string> messages;
  std::vector<std::string> phases;
  std::optional<base::Error> error;  // any exception, as the program would tell it
};

// FOLDER with a tiny model (tiny.safetensors) and pictures (data/).
class EngineFolder {
 public:
  EngineFolder();
  ~EngineFolder();
  EngineFolder(const EngineFolder&) = delete;
  EngineFolder& operator=(const EngineFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // Options of a training of `steps` steps in it, with these over them.
  Words words(int64_t steps, const Words& more) const;
  void clear() const;  // removes out/

 private:
  std::filesystem::path path_;
};

// `stop_at`: a signal comes during the step before, so that the run stops after that step; 0: none. `armed` is called
// when the first step begins.
EngineRun run_engine(const Words& words, int64_t stop_at = 0, void (*armed)() = nullptr);

// Sees each event when it is told, in the middle of the run, and may set `stop` as a signal does. Must not throw.
using EventHook = std::function<void(const nlohmann::json& event, std::atomic<bool>& stop)>;
EngineRun run_engine_beside(const Words& words, const EventHook& hook);

// Optimizer x adapter x precision of the resume equality, with the other options that have a state or draw numbers.
std::vector<Words> engine_combinations();

}  // namespace cinnabar::soak
