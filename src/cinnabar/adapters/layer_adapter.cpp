#ifdef CINNABAR_ENGINE
#include "cinnabar/adapters/layer_adapter.h"

namespace cinnabar::adapters {

std::optional<LayerRank> rank_of(const LayerRequest& request) {
  if (request.block_rank) return request.block_rank->rank > 0 ? request.block_rank : std::nullopt;
  const AdapterOptions& options = request.options;
  const bool is_large = request.layer.shape().kernel > 1;
  if ((request.is_extended || is_large) && !options.conv_dim) return std::nullopt;
  return is_large ? LayerRank{*options.conv_dim, options.conv_alpha}
                  : LayerRank{options.network_dim, options.network_alpha};
}

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
