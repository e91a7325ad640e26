#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

CINNABAR_REGISTER_SAMPLER(
    unipc, "unipc",
    {.help = "UniPC: deterministic multistep that corrects each step with the next prediction. Good "
             "pictures in 10 to 20 steps.",
     .label = "UniPC",
     .options = {karras_option(), spacing_option(), solver_order_option()}},
    {});

}  // namespace cinnabar::samplers

#ifdef CINNABAR_ENGINE

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cinnabar/samplers/solver_sampler.h"

namespace cinnabar::samplers {

namespace {

constexpr size_t kMostOrder = 3;
using Row = std::array<double, kMostOrder>;

// Solves matrix w = right by elimination with row swaps; the first `size` rows and columns count.
Row solve(std::array<Row, kMostOrder> matrix, Row right, size_t size) {
  for (size_t column = 0; column < size; ++column) {
    size_t best = column;
    for (size_t row = column + 1; row < size; ++row) {
      if (std::abs(matrix[row][column]) > std::abs(matrix[best][column])) best = row;
    }
    std::swap(matrix[column], matrix[best]);
    std::swap(right[column], right[best]);
    for (size_t row = 0; row < size; ++row) {
      if (row == column) continue;
      const double factor = matrix[row][column] / matrix[column][column];
      for (size_t k = column; k < size; ++k) matrix[row][k] -= factor * matrix[column][k];
      right[row] -= factor * right[column];
    }
  }
  for (size_t row = 0; row < size; ++row) right[row] /= matrix[row][row];
  return right;
}

// Zhao et al. 2023, "UniPC: a unified predictor-corrector framework", algorithms 5 and 6, on the clean part.
class UniPc : public SolverSampler {
 public:
  explicit UniPc(const SamplerOptions& options) : SolverSampler(options, {}), is_bh1_(options.solver_type == "bh1") {}

  at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                  const NoiseFunction& /*noise*/) override {
    const at::Tensor clean = clean_part(call, x, prediction);
    const at::Tensor corrected = call == 0 || !is_longer(call - 1) ? x : correct(call - 1, clean);
    remember(call, clean);
    step_order_ = usable_order(call, std::min(order(), steps() - call));
    start_ = corrected;
    return predict(call);
  }

 private:
  bool is_longer(int64_t call) const { return sigma(call) != sigma(call + 1); }

  // The common part of predictor and corrector: the step of first order from `call`.
  at::Tensor first_order(int64_t call) const {
    return start_ * (spread(call + 1) / spread(call)) + part(0) * (signal(call + 1) * (1.0 - ratio(call)));
  }
  double ratio(int64_t call) const { return sigma(call + 1) / sigma(call); }  // exp(-h)
  // B(h) of the paper, times the signal share of the end.
  double gain(int64_t call) const { return signal(call + 1) * (is_bh1_ ? -length(call, call + 1) : ratio(call) - 1.0); }
  // Where the call `back` before stands, in units of the step; negative.
  double place(int64_t call, int64_t back) const { return length(call, call - back) / length(call, call + 1); }
  at::Tensor slope(int64_t call, int64_t back) const { return (part(back) - part(0)) / place(call, back); }

  at::Tensor predict(int64_t call) const {
    const at::Tensor start = first_order(call);
    if (step_order_ == 1 || !is_longer(call)) return start;
    if (step_order_ == 2) return start - slope(call, 1) * (0.5 * gain(call));
    const Row weights = weights_of(call, step_order_, static_cast<size_t>(step_order_) - 1);
    return start - (slope(call, 1) * weights[0] + slope(call, 2) * weights[1]) * gain(call);
  }

  // The step from `call`, now that the prediction at its end is known.
  at::Tensor correct(int64_t call, const at::Tensor& clean) const {
    const auto count = static_cast<size_t>(step_order_);
    Row weights{0.5, 0.0, 0.0};
    if (count > 1) weights = weights_of(call, step_order_, count);
    at::Tensor sum = (clean - part(0)) * weights[count - 1];
    for (size_t i = 0; i + 1 < count; ++i) sum = sum + slope(call, static_cast<int64_t>(i) + 1) * weights[i];
    return first_order(call) - sum * gain(call);
  }

  // Weights of the slopes for which the first `size` moments of the step agree.
  Row weights_of(int64_t call, int64_t order, size_t size) const {
    const double z = -length(call, call + 1);
    const double scale = is_bh1_ ? z : ratio(call) - 1.0;
    Row places{1.0, 1.0, 1.0};
    for (int64_t back = 1; back < order; ++back) places[static_cast<size_t>(back) - 1] = place(call, back);
    places[static_cast<size_t>(order) - 1] = 1.0;  // the end of the step
    std::array<Row, kMostOrder> matrix{};
    Row right{};
    double phi = (ratio(call) - 1.0) / z - 1.0;
    double factorial = 1.0;
    for (size_t row = 0; row < size; ++row) {
      for (size_t column = 0; column < size; ++column) {
        matrix[row][column] = std::pow(places[column], static_cast<double>(row));
      }
      right[row] = phi * factorial / scale;
      factorial *= static_cast<double>(row) + 2.0;
      phi = phi / z - 1.0 / factorial;
    }
    return solve(matrix, right, size);
  }

  bool is_bh1_;
  int64_t step_order_ = 1;  // of the step that was predicted last
  at::Tensor start_;        // where it began
};

}  // namespace

CINNABAR_REGISTER_SAMPLER_FACTORY(unipc, "unipc",
                                  [](const SamplerOptions& options) { return std::make_unique<UniPc>(options); });

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
