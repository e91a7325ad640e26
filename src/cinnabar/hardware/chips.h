// The table of AMD devices: PCI device and revision -> chip and name of the card.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cinnabar::hardware {

inline constexpr int64_t kVendorAmd = 0x1002;
inline constexpr int64_t kVendorNvidia = 0x10de;

// The architecture of a PCI device id; nothing for a device that the table does not know.
std::optional<std::string> gfx_of_device(int64_t device_id);
// The name of the card. One device id covers several cards, told apart by revision, else by memory (unknown: empty).
std::optional<std::string> card_name(int64_t device_id, std::optional<int64_t> revision,
                                     std::optional<int64_t> vram_bytes);

}  // namespace cinnabar::hardware
