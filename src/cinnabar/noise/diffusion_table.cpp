#ifdef CINNABAR_ENGINE

#include "cinnabar/noise/diffusion_table.h"

#include <ATen/ATen.h>

#include <cmath>

#include "cinnabar/base/error.h"

namespace cinnabar::noise {

namespace {

// Betas whose last signal share is 0: the roots are shifted so that the last one vanishes, then scaled so that the
// first one stays (Lin et al. 2023, algorithm 1).
at::Tensor rescaled_betas(const at::Tensor& betas) {
  const at::Tensor roots = at::cumprod(1.0 - betas, 0).sqrt();
  const at::Tensor first = roots[0].clone();
  const at::Tensor last = roots[-1].clone();
  const at::Tensor cumulative = ((roots - last) * (first / (first - last))).pow(2);
  const int64_t count = betas.size(0);
  const at::Tensor ratios = cumulative.narrow(0, 1, count - 1) / cumulative.narrow(0, 0, count - 1);
  return 1.0 - at::cat({cumulative.narrow(0, 0, 1), ratios});
}

// One number a sample, shaped to multiply x.
at::Tensor per_sample(const at::Tensor& table, const at::Tensor& timesteps, const at::Tensor& x) {
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  return table.index_select(0, timesteps.to(table.device())).to(x.device(), x.scalar_type()).view(shape);
}

}  // namespace

DiffusionTable::DiffusionTable(const DiffusionTableOptions& options) {
  CINNABAR_ASSERT(options.steps > 1);
  betas_ = at::linspace(std::sqrt(options.beta_start), std::sqrt(options.beta_end), options.steps, at::kFloat).pow(2);
  alphas_cumprod_ = at::cumprod(1.0 - betas_, 0);
  snr_ = (alphas_cumprod_.sqrt() / (1.0 - alphas_cumprod_).sqrt()).pow(2);
  if (options.zero_terminal_snr) {
    betas_ = rescaled_betas(betas_);
    alphas_cumprod_ = at::cumprod(1.0 - betas_, 0);
  }
  signal_ = alphas_cumprod_.sqrt();
  spread_ = (1.0 - alphas_cumprod_).sqrt();
}

at::Tensor DiffusionTable::add_noise(const at::Tensor& x, const at::Tensor& noise, const at::Tensor& timesteps) const {
  return per_sample(signal_, timesteps, x) * x + per_sample(spread_, timesteps, x) * noise;
}

at::Tensor DiffusionTable::velocity(const at::Tensor& x, const at::Tensor& noise, const at::Tensor& timesteps) const {
  return per_sample(signal_, timesteps, x) * noise - per_sample(spread_, timesteps, x) * x;
}

void DiffusionTable::to(at::Device device) {
  for (at::Tensor* table : {&betas_, &alphas_cumprod_, &snr_, &signal_, &spread_}) *table = table->to(device);
}

}  // namespace cinnabar::noise

#endif  // CINNABAR_ENGINE
