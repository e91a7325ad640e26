#ifdef CINNABAR_ENGINE

#include "cinnabar/noise/modifier.h"

#include <ATen/ATen.h>

#include <span>

namespace cinnabar::noise {

base::Registry<ModifierFactory>& modifiers() {
  static base::Registry<ModifierFactory> registry("noise modifier");
  return registry;
}

at::Tensor normal_tensor(base::RandomStream& stream, at::IntArrayRef shape) {
  at::Tensor result = at::empty(shape, at::kFloat);
  stream.fill_normal({result.mutable_data_ptr<float>(), static_cast<size_t>(result.numel())});
  return result;
}

}  // namespace cinnabar::noise

#endif  // CINNABAR_ENGINE
