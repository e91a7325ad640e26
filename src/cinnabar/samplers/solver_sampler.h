// What the exponential-integrator samplers (the DPM-Solver family, UniPC, DEIS) share: their levels, the parts of a
// prediction, and the predictions of the calls before.
#pragma once

#include "cinnabar/samplers/sampler.h"

namespace cinnabar::samplers {

// sigma: noise share over signal share. A level has the signal share a = 1 / sqrt(sigma^2 + 1) and the noise share
// a sigma; lambda = -log(sigma). The model sees x = a clean + a sigma noise as it is, at whole timesteps.
class SolverSampler : public Sampler {
 protected:
  // `own_order` counts where the options name none. `ends_at_clean`: the sampler's own choice, which the options may
  // overrule, of sigma 0 or the table's lowest level as the end.
  struct Settings {
    int64_t own_order = 2;
    bool ends_at_clean = true;
    bool has_spacing = true;  // false: linspace whatever the options say
  };
  SolverSampler(const SamplerOptions& options, const Settings& settings);

  int64_t steps() const { return static_cast<int64_t>(timesteps_.size()); }
  int64_t order() const { return order_; }
  bool ends_at_clean() const { return sigmas_.back() == 0.0; }
  double sigma(int64_t level) const { return sigmas_[static_cast<size_t>(level)]; }
  double signal(int64_t level) const;             // a
  double spread(int64_t level) const;             // a sigma
  double length(int64_t from, int64_t to) const;  // lambda(to) - lambda(from); infinite for an end at sigma 0
  at::Tensor clean_part(int64_t level, const at::Tensor& x, const at::Tensor& prediction) const;
  at::Tensor noise_part(int64_t level, const at::Tensor& x, const at::Tensor& prediction) const;

  // Keeps one part for each of the last `order()` calls; call 0 forgets what came before.
  void remember(int64_t call, const at::Tensor& part);
  // That of `back` calls before; 0 is the newest.
  const at::Tensor& part(int64_t back) const { return parts_[static_cast<size_t>(back)]; }
  // How many of the kept parts, `wanted` at most, lie at different levels when seen from `call`. With nearly as many
  // steps as the table has, two neighbours may be equal, and no slope goes through them.
  int64_t usable_order(int64_t call, int64_t wanted) const;

 private:
  Prediction prediction_;
  int64_t order_;
  std::vector<at::Tensor> parts_;  // newest first
};

}  // namespace cinnabar::samplers
