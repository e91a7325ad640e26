#include "cinnabar/loss/entry.h"

namespace cinnabar::loss {

base::Registry<Entry>& entries() {
  static base::Registry<Entry> registry("loss type");
  return registry;
}

base::Registry<Entry>& weight_entries() {
  static base::Registry<Entry> registry("loss weight");
  return registry;
}

}  // namespace cinnabar::loss
