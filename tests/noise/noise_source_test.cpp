#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <vector>

#include "cinnabar/noise/multires_noise.h"
#include "cinnabar/noise/noise_offset.h"
#include "cinnabar/noise/noise_source.h"

namespace cinnabar::noise {

namespace {

schema::Values values_with(std::initializer_list<std::pair<const char*, schema::Value>> items) {
  schema::Values values;
  for (const auto& [name, value] : items) values.set(name, value);
  return values;
}

const schema::Values kAll = values_with({{"noise_offset", 0.1},
                                         {"noise_offset_random_strength", true},
                                         {"adaptive_noise_scale", 0.2},
                                         {"multires_noise_iterations", int64_t{4}},
                                         {"ip_noise_gamma", 0.1},
                                         {"ip_noise_gamma_random_strength", true}});

const std::vector<SampleKey> kKeys{{7, 3, 0}, {7, 3, 1}, {7, 3, 5}, {7, 4, 1}};

}  // namespace

TEST_CASE("the noise of a sample does not depend on the batch that it is in") {
  const at::Tensor latents = at::randn({4, 4, 8, 6});
  for (const schema::Values& values : {schema::Values(), kAll}) {
    const NoiseSource source(values, 1000);
    const BatchNoise whole = source.draw(latents, kKeys);
    for (int64_t i = 0; i < 4; ++i) {
      const std::vector<SampleKey> key{kKeys[static_cast<size_t>(i)]};
      const BatchNoise one = source.draw(latents.narrow(0, i, 1), key);
      CHECK(at::equal(one.noise[0], whole.noise[i]));
      CHECK(at::equal(one.input_noise[0], whole.input_noise[i]));
      CHECK(at::equal(one.timesteps[0], whole.timesteps[i]));
    }
    CHECK_FALSE(at::equal(whole.noise[0], whole.noise[1]));  // another sample
    CHECK_FALSE(at::equal(whole.noise[1], whole.noise[3]));  // the same sample in another step
  }
}

TEST_CASE("plain noise is standard normal and also goes into the model") {
  const NoiseSource source({}, 1000);
  const std::vector<SampleKey> keys{{1, 0, 0}};
  const BatchNoise batch = source.draw(at::zeros({1, 4, 64, 64}), keys);
  CHECK(batch.noise.mean().abs().item<double>() < 0.04);  // 16,384 draws: five standard errors
  CHECK(batch.noise.std().item<double>() == doctest::Approx(1.0).epsilon(0.03));
  CHECK(batch.input_noise.is_same(batch.noise));
}

TEST_CASE("input perturbation leaves the target's noise alone") {
  const at::Tensor latents = at::zeros({1, 4, 8, 8});
  const std::vector<SampleKey> keys{{1, 0, 0}};
  const BatchNoise plain = NoiseSource({}, 1000).draw(latents, keys);
  const BatchNoise batch = NoiseSource(values_with({{"ip_noise_gamma", 0.1}}), 1000).draw(latents, keys);
  CHECK(at::equal(batch.noise, plain.noise));
  CHECK((batch.input_noise - batch.noise).std().item<double>() == doctest::Approx(0.1).epsilon(0.2));
}

TEST_CASE("noise offset is one constant per channel, never negative in strength when adaptive") {
  const at::Tensor noise = at::zeros({1, 2, 3, 3});
  const at::Tensor random = at::tensor({1.0F, -2.0F}).view({1, 2, 1, 1});
  const at::Tensor plain = add_noise_offset(noise, noise, random, 0.5, std::nullopt);
  CHECK(at::equal(plain[0][0], at::full({3, 3}, 0.5)));
  CHECK(at::equal(plain[0][1], at::full({3, 3}, -1.0)));
  const at::Tensor latents = at::full({1, 2, 3, 3}, -2.0);
  CHECK(at::equal(add_noise_offset(noise, latents, random, 0.5, -1.0), noise));
  CHECK(add_noise_offset(noise, latents, random, 0.5, 0.25)[0][0][0][0].item<double>() == doctest::Approx(1.0));
}

TEST_CASE("pyramid levels shrink to one and the sum has unit deviation") {
  CHECK((pyramid_level_size(64, 48, 0.5, 0) == std::array<int64_t, 2>{64, 48}));
  CHECK((pyramid_level_size(64, 48, 0.5, 2) == std::array<int64_t, 2>{7, 5}));
  CHECK((pyramid_level_size(64, 48, 0.9, 9) == std::array<int64_t, 2>{1, 1}));
  const at::Tensor mixed =
      add_pyramid_noise(at::randn({1, 4, 16, 16}), {at::randn({1, 4, 16, 16}), at::randn({1, 4, 3, 3})}, 0.5);
  CHECK(mixed.std().item<double>() == doctest::Approx(1.0));
}

TEST_CASE("timesteps stay in the asked range") {
  const std::vector<SampleKey> keys = [] {
    std::vector<SampleKey> many;
    for (uint64_t i = 0; i < 200; ++i) many.push_back({3, 0, i});
    return many;
  }();
  const at::Tensor latents = at::zeros({200, 1, 1, 1});
  const auto drawn = [&](const schema::Values& values) {
    return NoiseSource(values, 1000).draw(latents, keys).timesteps;
  };
  const at::Tensor some = drawn(values_with({{"min_timestep", int64_t{200}}, {"max_timestep", int64_t{210}}}));
  CHECK(some.min().item<int64_t>() == 200);
  CHECK(some.max().item<int64_t>() == 209);
  const at::Tensor all = drawn({});
  CHECK(all.min().item<int64_t>() < 50);
  CHECK(all.max().item<int64_t>() > 950);
  const at::Tensor one = drawn(values_with({{"min_timestep", int64_t{300}}, {"max_timestep", int64_t{300}}}));
  CHECK((one == 300).all().item<bool>());
}

TEST_CASE("settings that contradict each other are refused") {
  CHECK_THROWS_WITH_AS(NoiseSource(values_with({{"adaptive_noise_scale", 0.1}}), 1000),
                       doctest::Contains("noise_offset is not"), base::Error);
  CHECK_THROWS_WITH_AS(
      NoiseSource(values_with({{"min_timestep", int64_t{1000}}, {"max_timestep", int64_t{1000}}}), 1000),
      doctest::Contains("leave the noise table"), base::Error);
}

}  // namespace cinnabar::noise
