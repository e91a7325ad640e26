#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/adaptive_rate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "cinnabar/base/error.h"

namespace cinnabar::optim {

namespace {

std::vector<std::string> with_common(std::vector<std::string> numbers) {
  numbers.insert(numbers.begin(), {"d", "step"});
  return numbers;
}

}  // namespace

AdaptiveRate::AdaptiveRate(FlatParameters& parameters, const schema::Values& values, std::vector<std::string> buffers,
                           std::vector<std::string> numbers)
    : BufferedOptimizer(parameters, buffers, with_common(std::move(numbers))),
      buffer_count_(buffers.size()),
      first_estimate_(values.number("d0")),
      growth_rate_(values.maybe_number("growth_rate").value_or(std::numeric_limits<double>::infinity())) {
  estimate() = first_estimate_;
}

double AdaptiveRate::common_rate(std::span<const double> rates) {
  const double rate = rates.empty() ? 0.0 : *std::max_element(rates.begin(), rates.end());
  for (const double other : rates) {
    if (other == rate || other == 0.0) continue;
    throw base::Error(base::ErrorCode::Config,
                      "this optimizer finds one step size for all parameters: their learning rates must be equal or 0; "
                      "set unet_lr and text_encoder_lr to learning_rate");
  }
  return rate;
}

AdaptiveRate::Piece AdaptiveRate::piece_of(size_t index, int64_t begin, int64_t count) const {
  const ParameterGroup& group = groups()[index];
  Piece piece{group.values.narrow(0, begin, count), group.gradients.narrow(0, begin, count), {}};
  for (size_t i = 0; i < buffer_count_; ++i) piece.buffers.push_back(buffer(index, i).narrow(0, begin, count));
  return piece;
}

std::vector<double> AdaptiveRate::sum_over(std::span<const double> rates, size_t count,
                                           const std::function<at::Tensor(const Piece&)>& work) const {
  CINNABAR_ASSERT(rates.size() == groups().size());
  std::vector<double> sums(count, 0.0);
  for (size_t g = 0; g < groups().size(); ++g) {
    if (rates[g] == 0.0) continue;
    const std::vector<double> own =
        sum_pieces(groups()[g].values, whole(groups()[g]), count,
                   [&](int64_t begin, int64_t length) { return work(piece_of(g, begin, length)); });
    for (size_t i = 0; i < count; ++i) sums[i] += own[i];
  }
  return sums;
}

void AdaptiveRate::for_all(std::span<const double> rates, const std::function<void(const Piece&)>& work) const {
  CINNABAR_ASSERT(rates.size() == groups().size());
  for (size_t g = 0; g < groups().size(); ++g) {
    if (rates[g] == 0.0) continue;
    for_pieces(groups()[g].values, whole(groups()[g]),
               [&](int64_t begin, int64_t count) { work(piece_of(g, begin, count)); });
  }
}

at::Tensor decayed(const at::Tensor& gradients, const at::Tensor& values, double decay) {
  return decay == 0.0 ? gradients : gradients.add(values, decay);
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
