// The text of rocminfo: agents as the ROCm runtime sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

struct RocmAgent {
  std::string name{};  // gfx name, after an override
  std::string marketing_name{};
  std::optional<int64_t> node{};
  std::optional<int64_t> chip_id{};
  std::optional<int64_t> location{};  // bus << 8 | device << 3 | function; 0 under WSL
  std::optional<int64_t> compute_units{};
  std::optional<int64_t> wave_size{};
  std::optional<int64_t> memory_bytes{};  // largest global pool
  bool is_apu = false;
};

struct Rocminfo {
  enum class State { Missing, Complete, NoDriver, NoAccess, InitFailed, Invalid };
  State state = State::Missing;
  std::string reason{};             // its own words, when it failed
  std::vector<RocmAgent> agents{};  // GPUs; empty unless Complete
};

Rocminfo parse_rocminfo(const CommandResult& result);

}  // namespace cinnabar::hardware
