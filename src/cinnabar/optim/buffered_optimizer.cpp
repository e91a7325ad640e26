#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/buffered_optimizer.h"

#include <ATen/ATen.h>

#include <utility>

namespace cinnabar::optim {

BufferedOptimizer::BufferedOptimizer(FlatParameters& parameters, std::vector<std::string> buffers,
                                     std::vector<std::string> numbers)
    : parameters_(parameters), buffer_names_(std::move(buffers)), number_names_(std::move(numbers)) {
  for (const ParameterGroup& group : parameters.groups()) {
    std::vector<at::Tensor>& own = buffers_.emplace_back();
    for (size_t i = 0; i < buffer_names_.size(); ++i) own.push_back(at::zeros_like(group.values));
  }
  numbers_ = at::zeros({static_cast<int64_t>(number_names_.size())}, at::kDouble);
}

NamedTensors BufferedOptimizer::state() {
  NamedTensors result;
  for (size_t g = 0; g < buffers_.size(); ++g) {
    for (size_t i = 0; i < buffer_names_.size(); ++i) {
      result.emplace_back(buffer_names_[i] + "." + groups()[g].name, buffers_[g][i]);
    }
  }
  for (size_t i = 0; i < number_names_.size(); ++i) {
    result.emplace_back(number_names_[i], numbers_.select(0, static_cast<int64_t>(i)));
  }
  return result;
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
