#ifdef CINNABAR_ENGINE

#include "cinnabar/loss/element_loss.h"

namespace cinnabar::loss {

base::Registry<ElementLoss>& element_losses() {
  static base::Registry<ElementLoss> registry("loss type");
  return registry;
}

base::Registry<SampleWeight>& sample_weights() {
  static base::Registry<SampleWeight> registry("loss weight");
  return registry;
}

}  // namespace cinnabar::loss

#endif  // CINNABAR_ENGINE
