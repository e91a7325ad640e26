#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"
#include "cinnabar/samplers/sampler.h"

namespace cinnabar::samplers {

namespace {

SamplerOptions options_with(int64_t steps) {
  return {.steps = steps, .alphas_cumprod = at::linspace(0.999, 0.005, 1000)};
}

const Model kModel = [](const at::Tensor& x, double timestep) { return at::tanh(x) + timestep * 1e-4; };

}  // namespace

TEST_CASE("a picture depends on its seed alone, not on its batch") {
  const std::vector<uint64_t> seeds{11, 12, 13};
  const auto run = [](const std::vector<uint64_t>& some) {
    const auto sampler = make_sampler("euler_a", options_with(6));
    return run_sampler(*sampler, initial_noise(some, {2, 3, 3}) * sampler->initial_scale(), kModel, seeded_noise(some));
  };
  const at::Tensor together = run(seeds);
  for (int64_t i = 0; i < 3; ++i) {
    CHECK(at::allclose(run({seeds[static_cast<size_t>(i)]})[0], together[i], 1e-6, 1e-6));
  }
  CHECK_FALSE(at::allclose(together[0], together[1]));
}

TEST_CASE("the noise of every call is another") {
  const NoiseFunction noise = seeded_noise({4});
  const at::Tensor x = at::zeros({1, 2, 3, 3});
  CHECK(at::equal(noise(0, x), noise(0, x)));
  CHECK_FALSE(at::equal(noise(0, x), noise(1, x)));
  CHECK_FALSE(at::equal(noise(0, x), initial_noise({4}, {2, 3, 3})));
}

TEST_CASE("a sampler that is used again starts anew") {
  const auto sampler = make_sampler("dpmsolver++", options_with(5));
  const at::Tensor x = initial_noise({1}, {1, 4, 4});
  const at::Tensor first = run_sampler(*sampler, x, kModel, {});
  CHECK(at::equal(first, run_sampler(*sampler, x, kModel, {})));
}

TEST_CASE("clip_sample limits the clean latents of ddim and is off by default") {
  const Model far = [](const at::Tensor& x, double /*timestep*/) { return x * 0.0; };
  SamplerOptions options = options_with(1);
  const at::Tensor x = at::full({1, 1, 1, 1}, 3.0);
  CHECK(run_sampler(*make_sampler("ddim", options), x, far, {}).item<double>() > 2.0);
  schema::Values values;
  values.set("clip_sample", true);
  options = with_values(options, values);
  CHECK(run_sampler(*make_sampler("ddim", options), x, far, {}).item<double>() == doctest::Approx(1.0));
}

TEST_CASE("solver_order changes the solvers that list it") {
  schema::Values values;
  values.set("solver_order", int64_t{1});
  const at::Tensor x = initial_noise({1}, {1, 4, 4});
  for (const char* name : {"dpmsolver", "dpmsolver++", "unipc", "deis"}) {
    CAPTURE(name);
    const at::Tensor own = run_sampler(*make_sampler(name, options_with(20)), x, kModel, {});
    const at::Tensor first = run_sampler(*make_sampler(name, with_values(options_with(20), values)), x, kModel, {});
    CHECK_FALSE(at::allclose(own, first));
  }
}

TEST_CASE("options that a sampler does not know are named") {
  schema::Values values;
  values.set("karras_sigmas", true);
  values.set("timestep_spacing", std::string("leading"));
  values.set("clip_sample", true);
  values.set("solver_order", int64_t{3});
  CHECK((unused_options("euler", values) == std::vector<std::string>{"clip_sample", "solver_order"}));
  CHECK((unused_options("pndm", values) ==
         std::vector<std::string>{"karras_sigmas", "clip_sample", "timestep_spacing", "solver_order"}));
  CHECK(unused_options("pndm", {}).empty());
}

TEST_CASE("steps are reported and half-precision predictions are taken") {
  int64_t calls = 0;
  const Model half = [](const at::Tensor& x, double /*timestep*/) { return x.to(at::kBFloat16); };
  const auto sampler = make_sampler("euler", options_with(4));
  const at::Tensor found =
      run_sampler(*sampler, at::ones({1, 1, 2, 2}), half, {}, [&](int64_t call, const at::Tensor& x) {
        CHECK(call == calls);
        CHECK((x.sizes() == at::IntArrayRef({1, 1, 2, 2})));
        ++calls;
      });
  CHECK(calls == 4);
  CHECK((found.scalar_type() == at::kFloat));
}

TEST_CASE("unknown samplers and step counts beyond the table are refused") {
  CHECK_THROWS_WITH_AS(make_sampler("eular", options_with(5)), doctest::Contains("did you mean \"euler\"?"),
                       base::Error);
  CHECK_THROWS_WITH_AS(make_sampler("euler", options_with(1001)), doctest::Contains("expected 1 to 1000"), base::Error);
  CHECK_THROWS_WITH_AS(make_sampler("euler", options_with(0)), doctest::Contains("expected 1 to 1000"), base::Error);
}

}  // namespace cinnabar::samplers
