#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include "cinnabar/noise/diffusion_table.h"

#include <cmath>

namespace cinnabar::noise {

TEST_CASE("noise shares follow the betas") {
  const DiffusionTable table;
  CHECK(table.steps() == 1000);
  CHECK(table.betas()[0].item<float>() == doctest::Approx(0.00085));
  CHECK(table.betas()[-1].item<float>() == doctest::Approx(0.012));
  const at::Tensor shares = table.alphas_cumprod();
  CHECK(shares[0].item<float>() == doctest::Approx(1.0 - 0.00085));
  CHECK((shares.narrow(0, 1, 999) < shares.narrow(0, 0, 999)).all().item<bool>());
  CHECK(table.snr()[500].item<double>() ==
        doctest::Approx(shares[500].item<double>() / (1.0 - shares[500].item<double>())));
}

TEST_CASE("zero terminal SNR ends in pure noise, keeps the first entry and the SNR table") {
  const DiffusionTable plain;
  const DiffusionTable fixed({.zero_terminal_snr = true});
  CHECK(fixed.alphas_cumprod()[-1].item<double>() < 1e-12);
  CHECK(fixed.alphas_cumprod()[0].item<float>() == doctest::Approx(plain.alphas_cumprod()[0].item<float>()));
  CHECK(at::equal(fixed.snr(), plain.snr()));
}

TEST_CASE("every sample is mixed with its own timestep") {
  const DiffusionTable table;
  const at::Tensor x = at::full({2, 4, 3, 5}, 2.0);
  const at::Tensor noise = at::full({2, 4, 3, 5}, 1.0);
  const at::Tensor timesteps = at::tensor({0, 999}, at::kLong);
  const at::Tensor noisy = table.add_noise(x, noise, timesteps);
  const at::Tensor velocity = table.velocity(x, noise, timesteps);
  for (const int64_t i : {0, 1}) {
    const double share = table.alphas_cumprod()[timesteps[i].item<int64_t>()].item<double>();
    CHECK(noisy[i].flatten()[7].item<double>() == doctest::Approx(2.0 * std::sqrt(share) + std::sqrt(1.0 - share)));
    CHECK(velocity[i].flatten()[7].item<double>() == doctest::Approx(std::sqrt(share) - 2.0 * std::sqrt(1.0 - share)));
  }
}

TEST_CASE("half-precision latents stay in half precision") {
  const DiffusionTable table;
  const at::Tensor x = at::ones({1, 4, 2, 2}, at::kBFloat16);
  CHECK((table.add_noise(x, x, at::tensor({10}, at::kLong)).scalar_type() == at::kBFloat16));
}

}  // namespace cinnabar::noise
