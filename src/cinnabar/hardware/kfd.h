// The AMD compute driver's topology in /sys/class/kfd: what the ROCm runtime will see, without any tool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

struct KfdNode {
  int64_t node = 0;
  int64_t gpu_id = 0;
  std::string bdf;
  std::optional<std::string> gfx{};
  std::optional<int64_t> device_id{};
  std::optional<int64_t> compute_units{};
  std::optional<int64_t> wave_size{};
  std::optional<int64_t> render_minor{};
  int64_t visible_bytes = 0;  // heap type 1
  int64_t hidden_bytes = 0;   // heap type 2: the CPU cannot reach it
  bool has_pcie_atomics = true;
};

// GPU nodes in the order of the driver, which is that of HSA and HIP. Nodes that cannot be read (those of others in a
// container) are left out.
std::vector<KfdNode> read_kfd(const FileTree& files);

}  // namespace cinnabar::hardware
