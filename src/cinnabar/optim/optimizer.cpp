#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "cinnabar/optim/entry.h"

namespace cinnabar::optim {

base::Registry<OptimizerFactory>& factories() {
  static base::Registry<OptimizerFactory> registry("optimizer_type");
  return registry;
}

std::unique_ptr<Optimizer> make_optimizer(const std::string& optimizer_type, const std::vector<std::string>& arguments,
                                          FlatParameters& parameters) {
  const std::string name = entry_name(optimizer_type);
  return factories().at(name)(parameters, read_arguments(name, arguments));
}

void restore_state(Optimizer& optimizer, const NamedTensors& saved) {
  const NamedTensors own = optimizer.state();
  const auto fail = [](const std::string& what) {
    throw base::Error(base::ErrorCode::Config,
                      "optimizer state: " + what +
                          ": the state was saved by a run with another optimizer or other trainable "
                          "parameters; resume with the options of that run");
  };
  if (saved.size() != own.size()) {
    fail("found " + std::to_string(saved.size()) + " tensors, expected " + std::to_string(own.size()));
  }
  // All checks before the first copy: a failed restore changes nothing.
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  for (const auto& [name, tensor] : own) {
    const auto found = std::find_if(saved.begin(), saved.end(), [&](const auto& item) { return item.first == name; });
    if (found == saved.end()) fail(name + " is missing");
    if (found->second.scalar_type() != tensor.scalar_type() || found->second.sizes() != tensor.sizes()) {
      fail(name + " has another type or size");
    }
    pairs.emplace_back(tensor, found->second);
  }
  const at::NoGradGuard no_grad;
  for (auto& [target, source] : pairs) target.copy_(source);
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
