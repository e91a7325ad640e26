#include "cinnabar/hardware/pci.h"

#include "cinnabar/hardware/chips.h"
#include "cinnabar/hardware/drm.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

std::vector<PciDevice> read_pci(const FileTree& files) {
  const std::string bus = "/sys/bus/pci/devices/";
  std::vector<PciDevice> devices;
  for (const std::string& name : files.names(bus)) {
    const std::string folder = bus + name;
    const int64_t type = files.number(folder + "/class").value_or(0) >> 16;
    if (type != 0x03 && type != 0x12) continue;
    const int64_t vendor = files.number(folder + "/vendor").value_or(0);
    if (vendor != kVendorAmd && vendor != kVendorNvidia) continue;
    const auto device_id = files.number(folder + "/device");
    // AMD's neural processors are accelerators, too.
    if (type == 0x12 && vendor == kVendorAmd && (!device_id || !gfx_of_device(*device_id))) continue;
    devices.push_back({.bdf = lowered(name),
                       .vendor = vendor,
                       .device_id = device_id,
                       .revision = files.number(folder + "/revision"),
                       .driver = assigned(files.text(folder + "/uevent").value_or(""), "DRIVER")});
  }
  return devices;
}

}  // namespace cinnabar::hardware
