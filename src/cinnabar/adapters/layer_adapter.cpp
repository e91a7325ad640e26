#ifdef CINNABAR_ENGINE
#include "cinnabar/adapters/layer_adapter.h"

namespace cinnabar::adapters {

base::Registry<AdapterFactory>& adapter_factories() {
  static base::Registry<AdapterFactory> registry("network_module");
  return registry;
}

bool register_factory(std::initializer_list<std::string> names, const AdapterFactory& factory) {
  for (const std::string& name : names) adapter_factories().add(name, factory);
  return true;
}

}  // namespace cinnabar::adapters
#endif
