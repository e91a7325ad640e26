// The noise table of DDPM-trained models (Stable Diffusion 1, 2, XL): signal and noise shares of every timestep.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace cinnabar::noise {

// B batch, C channels, H W latent height and width, T timesteps of the table.
struct DiffusionTableOptions {
  int64_t steps = 1000;
  double beta_start = 0.00085;  // the betas are squares of evenly spaced roots ("scaled linear")
  double beta_end = 0.012;
  bool zero_terminal_snr = false;  // Lin et al. 2023, "Common diffusion noise schedules and sample steps are flawed"
};

// All tables are fp32 and computed in fp32, as the reference does; a double table would differ in the sixth digit.
class DiffusionTable {
 public:
  explicit DiffusionTable(const DiffusionTableOptions& options = {});

  int64_t steps() const { return betas_.size(0); }
  const at::Tensor& betas() const { return betas_; }                    // [T]
  const at::Tensor& alphas_cumprod() const { return alphas_cumprod_; }  // [T]
  // Signal-to-noise ratios of the table before any zero-terminal rescale: what loss weights use (as sd-scripts does).
  const at::Tensor& snr() const { return snr_; }  // [T]

  // sqrt(a_t) x + sqrt(1 - a_t) noise, in x's dtype. x, noise [B, C, H, W]; timesteps int64 [B] in [0, T).
  at::Tensor add_noise(const at::Tensor& x, const at::Tensor& noise, const at::Tensor& timesteps) const;
  // The v target: sqrt(a_t) noise - sqrt(1 - a_t) x.
  at::Tensor velocity(const at::Tensor& x, const at::Tensor& noise, const at::Tensor& timesteps) const;

  void to(at::Device device);

 private:
  at::Tensor betas_;
  at::Tensor alphas_cumprod_;
  at::Tensor snr_;
  at::Tensor signal_;  // [T] sqrt(a_t)
  at::Tensor spread_;  // [T] sqrt(1 - a_t)
};

}  // namespace cinnabar::noise
