// Graphics devices on the PCI bus, with or without a driver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

struct PciDevice {
  std::string bdf;
  int64_t vendor = 0;
  std::optional<int64_t> device_id{};
  std::optional<int64_t> revision{};
  std::string driver{};  // empty: none is bound
};

// Display controllers (class 03) and processing accelerators (class 12) of AMD and NVIDIA. The audio functions of the
// same cards are no devices of theirs.
std::vector<PciDevice> read_pci(const FileTree& files);

}  // namespace cinnabar::hardware
