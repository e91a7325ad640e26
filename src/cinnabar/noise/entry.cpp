#include "cinnabar/noise/entry.h"

namespace cinnabar::noise {

base::Registry<Entry>& entries() {
  static base::Registry<Entry> registry("noise setting");
  return registry;
}

}  // namespace cinnabar::noise
