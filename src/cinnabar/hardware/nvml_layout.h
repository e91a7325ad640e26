// Layouts of NVIDIA's management library, unchanged since its functions carry their version in the name.
#pragma once

namespace cinnabar::hardware {

struct NvmlMemory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct NvmlUse {
  unsigned gpu = 0;
  unsigned memory = 0;
};

struct NvmlPci {
  char old_bus_id[16] = {};
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned ids = 0;
  unsigned subsystem = 0;
  char bus_id[32] = {};
};

}  // namespace cinnabar::hardware
