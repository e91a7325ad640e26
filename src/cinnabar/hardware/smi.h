// What the tools amd-smi, rocm-smi and nvidia-smi say, in all their layouts, as one kind of record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

struct SmiGpu {
  std::optional<int64_t> index{};
  std::string bdf{};                // "" when the tool does not say
  std::optional<int64_t> node{};    // of the compute driver
  std::optional<int64_t> gpu_id{};  // of the compute driver
  std::string name{};
  std::optional<std::string> gfx{};
  std::optional<std::string> compute_capability{};
  std::optional<int64_t> device_id{};
  std::optional<int64_t> revision{};
  std::optional<int64_t> compute_units{};
  std::optional<int64_t> vram_bytes{};
  std::optional<int64_t> vram_used_bytes{};
  std::optional<double> utilisation_percent{};
  std::optional<double> temperature_c{};
  std::optional<double> power_w{};
};

struct SmiReport {
  bool is_installed = false;
  bool is_invalid = false;  // a non-zero exit, or text that cannot be read
  std::string reason{};     // its own words, when it failed
  std::vector<SmiGpu> gpus{};
  std::optional<std::string> rocm_version{};  // of amd-smi
};

SmiReport read_amd_smi(const Sources& sources);     // amd_smi.cpp
SmiReport read_rocm_smi(const Sources& sources);    // rocm_smi.cpp
SmiReport read_nvidia_smi(const Sources& sources);  // nvidia_smi.cpp

// "00000000:04:00.0" and "0000:04:00.0" are the same address; lower case, four digits of domain.
std::string normal_bdf(const std::string& text);
// The JSON after warning lines that some tools print first; "" when there is none.
std::string json_part(const std::string& output);

}  // namespace cinnabar::hardware
