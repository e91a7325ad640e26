// What D-Adaptation and Prodigy share: d, an estimate of how far the parameters have to go, which multiplies the rate.
#pragma once

#include "cinnabar/optim/buffered_optimizer.h"

namespace cinnabar::optim {

class AdaptiveRate : public BufferedOptimizer {
 public:
  std::optional<double> step_estimate() const override { return estimate(); }

 protected:
  // Reads d0 and growth_rate. Further numbers follow behind "d" (0) and "step" (1): `numbers` from index 2.
  AdaptiveRate(FlatParameters& parameters, const schema::Values& values, std::vector<std::string> buffers,
               std::vector<std::string> numbers);

  double& estimate() const { return number(0); }
  double& steps_done() const { return number(1); }
  double first_estimate() const { return first_estimate_; }
  double growth_rate() const { return growth_rate_; }

  // The rate of all groups. A group may have 0, which leaves it as it is; other differences are Error{Config}.
  static double common_rate(std::span<const double> rates);

  // The live pieces of group `index`: parameters, gradients and buffers in the order of their names.
  struct Piece {
    at::Tensor values;
    at::Tensor gradients;
    std::vector<at::Tensor> buffers;
  };
  Piece piece_of(size_t index, int64_t begin, int64_t count) const;
  // Over all groups whose rate is not 0: calls `work`, and adds up the sums that it returns.
  std::vector<double> sum_over(std::span<const double> rates, size_t count,
                               const std::function<at::Tensor(const Piece&)>& work) const;
  void for_all(std::span<const double> rates, const std::function<void(const Piece&)>& work) const;

 private:
  size_t buffer_count_;
  double first_estimate_;
  double growth_rate_;  // infinite without a limit
};

// Gradients with the weight decay that goes through them (`decay` 0: as they are).
at::Tensor decayed(const at::Tensor& gradients, const at::Tensor& values, double decay);

}  // namespace cinnabar::optim
