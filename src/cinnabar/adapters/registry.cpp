#include "cinnabar/adapters/registry.h"

namespace cinnabar::adapters {

base::Registry<AdapterDescription>& adapter_descriptions() {
  static base::Registry<AdapterDescription> registry("network_module");
  return registry;
}

bool register_adapter(std::initializer_list<std::string> names, const AdapterDescription& description) {
  for (const std::string& name : names) adapter_descriptions().add(name, description);
  return true;
}

}  // namespace cinnabar::adapters
