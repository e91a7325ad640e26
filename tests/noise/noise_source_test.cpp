#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <cmath>
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

// What an option adds to the plain noise of many samples at zero latents, one number a sample and channel.
namespace {

std::vector<SampleKey> many_keys(uint64_t count) {
  std::vector<SampleKey> many;
  for (uint64_t i = 0; i < count; ++i) many.push_back({3, 0, i});
  return many;
}

BatchNoise drawn_with(const schema::Values& values, const at::Tensor& latents) {
  return NoiseSource(values, 1000).draw(latents, many_keys(static_cast<uint64_t>(latents.size(0))));
}

}  // namespace

TEST_CASE("noise_offset adds one constant a channel of the asked size") {
  const at::Tensor latents = at::zeros({400, 4, 2, 2});
  const at::Tensor plain = drawn_with({}, latents).noise;
  const at::Tensor added = drawn_with(values_with({{"noise_offset", 0.1}}), latents).noise - plain;
  CHECK(at::allclose(added, added.mean({2, 3}, true).expand_as(added), 0.0, 1e-6));
  CHECK(added.select(2, 0).select(2, 0).std().item<double>() == doctest::Approx(0.1).epsilon(0.1));
}

TEST_CASE("noise_offset_random_strength draws each sample's strength between 0 and the offset") {
  const at::Tensor latents = at::zeros({400, 4, 2, 2});
  const at::Tensor plain = drawn_with({}, latents).noise;
  const auto offset = [&](bool is_random) {
    const auto values = values_with({{"noise_offset", 0.1}, {"noise_offset_random_strength", is_random}});
    return (drawn_with(values, latents).noise - plain).select(3, 0).select(2, 0);  // [B, C]
  };
  // Strengths even in 0..0.1 have the mean square 0.1^2 / 3.
  CHECK(offset(true).square().mean().item<double>() == doctest::Approx(0.01 / 3.0).epsilon(0.2));
  CHECK(offset(false).square().mean().item<double>() == doctest::Approx(0.01).epsilon(0.2));
  // One strength a sample: its channels are large or small together.
  const at::Tensor sizes = offset(true).abs().mean(1);
  CHECK(sizes.min().item<double>() < 0.005);
  CHECK(sizes.max().item<double>() > 0.08);
}

TEST_CASE("adaptive_noise_scale adds to the offset by the mean of the latents") {
  const at::Tensor latents = at::full({200, 4, 2, 2}, -2.0);
  const at::Tensor plain = drawn_with({}, latents).noise;
  const auto deviation = [&](double scale) {
    const auto values = values_with({{"noise_offset", 0.1}, {"adaptive_noise_scale", scale}});
    return (drawn_with(values, latents).noise - plain).select(3, 0).select(2, 0).std().item<double>();
  };
  CHECK(deviation(0.05) == doctest::Approx(0.2).epsilon(0.1));
  CHECK(deviation(-0.1) == doctest::Approx(0.0));  // never below 0
}

TEST_CASE("ip_noise_gamma_random_strength draws each sample's strength between 0 and gamma") {
  const at::Tensor latents = at::zeros({300, 4, 4, 4});
  const auto perturbed = [&](bool is_random) {
    const BatchNoise batch =
        drawn_with(values_with({{"ip_noise_gamma", 0.2}, {"ip_noise_gamma_random_strength", is_random}}), latents);
    return (batch.input_noise - batch.noise).flatten(1).std(1);  // [B]
  };
  CHECK(perturbed(true).min().item<double>() < 0.01);
  CHECK(perturbed(true).max().item<double>() > 0.17);
  CHECK(perturbed(true).mean().item<double>() == doctest::Approx(0.1).epsilon(0.15));
  CHECK(perturbed(false).min().item<double>() > 0.1);
}

TEST_CASE("multires_noise makes neighbours alike and keeps the deviation") {
  const at::Tensor latents = at::zeros({20, 4, 16, 16});
  const auto likeness = [](const at::Tensor& noise) {
    const at::Tensor product = noise.narrow(3, 0, 15) * noise.narrow(3, 1, 15);
    return product.mean().item<double>();
  };
  const auto values = values_with({{"multires_noise_iterations", int64_t{6}}, {"multires_noise_discount", 0.8}});
  const at::Tensor noise = drawn_with(values, latents).noise;
  CHECK(std::abs(likeness(drawn_with({}, latents).noise)) < 0.05);
  CHECK(likeness(noise) > 0.2);
  CHECK(noise.std().item<double>() == doctest::Approx(1.0).epsilon(0.01));
  const auto mild = values_with({{"multires_noise_iterations", int64_t{6}}, {"multires_noise_discount", 0.1}});
  CHECK(likeness(drawn_with(mild, latents).noise) < likeness(noise));
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
