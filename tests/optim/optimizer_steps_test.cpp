// Single steps of each optimizer that can be worked out by hand, and what its arguments change.
#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

namespace {

// One parameter of three elements, all 2.
struct Small {
  Small(const std::string& type, const std::vector<std::string>& arguments, double base_rate = 0.1) : rate(base_rate) {
    flat.add_group("all", base_rate, {{"weight", weight}});
    optimizer = make_optimizer(type, arguments, flat);
  }
  void step(float a, float b, float c) {
    flat.gradient("weight").copy_(at::tensor({a, b, c}));
    optimizer->step(std::vector<double>{rate});
  }
  double value(int64_t i) const { return weight.detach()[i].item<double>(); }

  double rate;
  at::Tensor weight = at::full({3}, 2.0);
  FlatParameters flat;
  std::unique_ptr<Optimizer> optimizer;
};

at::Tensor trained(const std::string& type, const std::vector<std::string>& arguments, double rate, int64_t size = 6) {
  at::Tensor weight = at::linspace(-1.0, 1.0, size * size).view({size, size});
  FlatParameters flat;
  flat.add_group("all", rate, {{"weight", weight}});
  const auto optimizer = make_optimizer(type, arguments, flat);
  for (int step = 0; step < 12; ++step) {
    flat.gradient("weight").copy_(at::sin(at::arange(size * size, at::kFloat) * (step + 1)).view({size, size}) +
                                  weight.detach());
    optimizer->step(std::vector<double>{rate});
  }
  return weight.detach().clone();
}

void check_arguments_matter(const std::string& type, double rate, const std::vector<std::string>& arguments) {
  const at::Tensor plain = trained(type, {}, rate);
  for (const std::string& argument : arguments) {
    CAPTURE(type);
    CAPTURE(argument);
    CHECK_FALSE(at::equal(plain, trained(type, {argument}, rate)));
  }
}

}  // namespace

TEST_CASE("Lion steps by the sign, and turns with its faster mean") {
  Small lion("Lion", {});
  lion.step(5.0F, -0.001F, 0.0F);
  CHECK(lion.value(0) == doctest::Approx(1.9));
  CHECK(lion.value(1) == doctest::Approx(2.1));
  CHECK(lion.value(2) == doctest::Approx(2.0));
  lion.step(-0.3F, 0.0F, 0.0F);  // 0.9 * 0.05 - 0.1 * 0.3 > 0
  CHECK(lion.value(0) == doctest::Approx(1.8));
  Small decayed("lion", {"weight_decay=0.5"});
  decayed.step(0.0F, 0.0F, 0.0F);
  CHECK(decayed.value(0) == doctest::Approx(2.0 * (1.0 - 0.1 * 0.5)));
  Small decoupled("lion", {"weight_decay=0.05", "decoupled_weight_decay=True"});
  decoupled.step(0.0F, 0.0F, 0.0F);
  CHECK(decoupled.value(0) == doctest::Approx(2.0 * (1.0 - 0.1 * (0.05 / 0.1))));
}

TEST_CASE("SGD with Nesterov looks one step ahead, the 8-bit form does not") {
  Small nesterov("SGDNesterov", {});
  nesterov.step(1.0F, 0.0F, 0.0F);
  CHECK(nesterov.value(0) == doctest::Approx(2.0 - 0.1 * 1.9));
  Small coded("SGDNesterov8bit", {});
  coded.step(1.0F, 0.0F, 0.0F);
  CHECK(coded.value(0) == doctest::Approx(2.0 - 0.1));
  Small plain("SGD", {"weight_decay=0.5"});
  plain.step(1.0F, 0.0F, 0.0F);
  CHECK(plain.value(0) == doctest::Approx(2.0 - 0.1 * (1.0 + 0.5 * 2.0)));
  CHECK(plain.value(1) == doctest::Approx(2.0 - 0.1 * (0.5 * 2.0)));
  CHECK_THROWS_WITH_AS(Small("SGD", {"nesterov=True"}), doctest::Contains("momentum above 0"), base::Error);
  check_arguments_matter("sgd", 0.1, {"momentum=0.5", "weight_decay=0.1"});
  CHECK_FALSE(at::equal(trained("sgd", {"momentum=0.5"}, 0.1), trained("sgd", {"momentum=0.5", "dampening=0.5"}, 0.1)));
}

TEST_CASE("AdamW8bit makes the steps of AdamW, nearly, and exactly where nothing is coded") {
  const at::Tensor exact = trained("AdamW", {}, 0.01, 80);
  const at::Tensor coded = trained("AdamW8bit", {}, 0.01, 80);
  CHECK(at::allclose(exact, coded, 0.0, 0.02));
  CHECK_FALSE(at::allclose(exact, coded, 0.0, 1e-5));
  CHECK(at::allclose(exact, trained("AdamW8bit", {"min_8bit_size=10000"}, 0.01, 80), 0.0, 1e-6));
  CHECK(at::equal(coded, trained("PagedAdamW8bit", {}, 0.01, 80)));
  CHECK(at::equal(exact, trained("PagedAdamW", {}, 0.01, 80)));
  CHECK(at::equal(exact, trained("PagedAdamW32bit", {}, 0.01, 80)));
  CHECK(at::equal(trained("Lion8bit", {}, 0.01, 80), trained("PagedLion8bit", {}, 0.01, 80)));
  check_arguments_matter("adamw8bit", 0.01, {"betas=0.5,0.9", "eps=0.1", "weight_decay=0.5"});
}

TEST_CASE("Adafactor keeps row and column means of matrices and finds its own rate") {
  at::Tensor weight = at::full({4, 6}, 0.5);
  at::Tensor kernel = at::full({2, 3, 5, 5}, 0.5);
  at::Tensor vector = at::full({7}, 0.5);
  FlatParameters flat;
  flat.add_group("all", 0.0, {{"weight", weight}, {"kernel", kernel}, {"vector", vector}});
  const auto optimizer = make_optimizer("Adafactor", {}, flat);
  const std::vector<double> rates{123.0};
  CHECK(optimizer->effective_rates(rates).front() == 123.0);  // nothing is known before the first step
  for (const ParameterGroup& group : flat.groups()) group.gradients.fill_(0.1);
  optimizer->step(rates);
  CHECK(optimizer->effective_rates(rates).front() == doctest::Approx(0.01 * 0.5));
  CHECK(weight.detach()[0][0].item<double>() == doctest::Approx(0.5 - 0.005));
  for (const auto& [name, tensor] : optimizer->state()) {
    if (name == "exp_avg_sq_row.all") CHECK(tensor.numel() == 4 + 2 * 3 * 5);
    if (name == "exp_avg_sq_col.all") CHECK(tensor.numel() == 6 + 2 * 3 * 5);
    if (name == "exp_avg_sq.all") CHECK(tensor.numel() == 7);
  }
  check_arguments_matter("adafactor", 0.02,
                         {"relative_step=False", "scale_parameter=False", "warmup_init=True", "beta1=0.5",
                          "weight_decay=0.1", "clip_threshold=0.1", "decay_rate=-0.5", "eps=0.01,0.9"});
  CHECK_THROWS_WITH_AS(trained("adafactor", {"relative_step=False", "warmup_init=True"}, 0.1),
                       doctest::Contains("needs relative_step"), base::Error);
  CHECK_THROWS_WITH_AS(trained("adafactor", {"eps=1e-30"}, 0.1), doctest::Contains("two numbers"), base::Error);
}

TEST_CASE("CAME's arguments change its steps") {
  check_arguments_matter("came", 0.02, {"betas=0.5,0.9,0.99", "weight_decay=0.1", "clip_threshold=0.1", "eps=0.1,0.1"});
  CHECK_THROWS_WITH_AS(trained("came", {"betas=0.5,0.9"}, 0.1), doctest::Contains("three numbers"), base::Error);
}

TEST_CASE("Prodigy's first step is of size d0, and d grows while the gradients agree") {
  Small prodigy("Prodigy", {"d0=0.01"}, 1.0);
  CHECK(prodigy.optimizer->step_estimate() == 0.01);
  prodigy.step(3.0F, 0.0F, 0.0F);
  // m = d (1 - b1) g, v = d^2 (1 - b2) g^2: m / sqrt(v) = 0.1 / sqrt(0.001).
  CHECK(prodigy.value(0) == doctest::Approx(2.0 - 0.01 * 0.1 / std::sqrt(0.001)));
  for (int i = 0; i < 10; ++i) prodigy.step(3.0F, 0.0F, 0.0F);
  CHECK(prodigy.optimizer->step_estimate().value_or(0.0) > 0.011);
  check_arguments_matter("prodigy", 1.0,
                         {"betas=0.5,0.9", "beta3=0.5", "weight_decay=0.5", "use_bias_correction=True", "d0=1e-4",
                          "d_coef=2", "growth_rate=1.01", "slice_p=3"});
  CHECK_FALSE(at::equal(trained("prodigy", {"weight_decay=0.5"}, 1.0),
                        trained("prodigy", {"weight_decay=0.5", "decouple=False"}, 1.0)));
  CHECK_FALSE(at::equal(trained("prodigy", {}, 0.5), trained("prodigy", {"safeguard_warmup=True"}, 0.5)));
  CHECK(trained("prodigy", {"betas=0.0,0.99"}, 1.0).isfinite().all().item<bool>());
}

TEST_CASE("optimizers with one step size refuse different rates, and wait for the first gradient") {
  for (const char* type : {"Prodigy", "DAdaptAdam", "DAdaptation", "DAdaptAdaGrad", "DAdaptSGD", "DAdaptLion",
                           "DAdaptAdan", "DAdaptAdanIP"}) {
    CAPTURE(type);
    at::Tensor a = at::ones({3});
    at::Tensor b = at::ones({3});
    FlatParameters flat;
    flat.add_group("unet", 1.0, {{"a", a}});
    flat.add_group("text_encoder", 0.5, {{"b", b}});
    const auto optimizer = make_optimizer(type, {}, flat);
    CHECK_THROWS_WITH_AS(optimizer->step(std::vector<double>{1.0, 0.5}), doctest::Contains("must be equal"),
                         base::Error);
    optimizer->step(std::vector<double>{0.0, 0.0});  // a warm-up begins so
    optimizer->step(std::vector<double>{1.0, 1.0});  // gradients of 0
    CHECK(at::allclose(a.detach(), at::ones({3}), 0.0, 1e-6));
    CHECK(optimizer->step_estimate() == 1e-6);
    for (int i = 0; i < 8; ++i) {
      for (const ParameterGroup& group : flat.groups()) group.gradients.fill_(1.0);
      optimizer->step(std::vector<double>{1.0, 1.0});
    }
    CHECK(a.detach().isfinite().all().item<bool>());
    CHECK(a.detach().max().item<double>() < 1.0);
  }
}

TEST_CASE("schedule-free optimizers show the mean of their steps") {
  Small sgd("SGDScheduleFree", {"momentum=0.5", "weight_lr_power=0"}, 1.0);
  sgd.step(1.0F, 0.0F, 0.0F);  // z: 2 -> 1; x = z; y = x
  CHECK(sgd.value(0) == doctest::Approx(1.0));
  sgd.step(1.0F, 0.0F, 0.0F);  // z: 1 -> 0; x = (1 + 0) / 2; y halfway from x to z
  CHECK(sgd.value(0) == doctest::Approx(0.25));
  sgd.optimizer->enter_evaluation();
  CHECK(sgd.value(0) == doctest::Approx(0.5));
  sgd.optimizer->enter_training();
  CHECK(sgd.value(0) == doctest::Approx(0.25));
  check_arguments_matter("adamwschedulefree", 0.1,
                         {"betas=0.5,0.9", "eps=0.1", "weight_decay=0.5", "warmup_steps=5", "r=1"});
  CHECK_FALSE(at::equal(trained("adamwschedulefree", {"warmup_steps=5"}, 0.1),
                        trained("adamwschedulefree", {"warmup_steps=5", "weight_lr_power=0"}, 0.1)));
  check_arguments_matter("radamschedulefree", 0.1, {"silent_sgd_phase=False", "betas=0.5,0.9"});
}

TEST_CASE("arguments of D-Adaptation change its steps") {
  check_arguments_matter("dadaptadam", 1.0, {"use_bias_correction=True", "d0=1e-4", "weight_decay=0.5"});
  check_arguments_matter("dadaptation", 1.0, {"betas=0.5,0.9", "growth_rate=1.01"});
  check_arguments_matter("dadaptadagrad", 1.0, {"momentum=0.5", "d0=1e-3"});
  check_arguments_matter("dadaptsgd", 1.0, {"momentum=0.5", "weight_decay=0.5"});
  check_arguments_matter("dadaptlion", 1.0, {"d0=1e-3"});
  check_arguments_matter("dadaptadan", 1.0, {"betas=0.5,0.5,0.5", "weight_decay=0.5"});
  CHECK_FALSE(at::equal(trained("dadaptadan", {"weight_decay=50"}, 1.0),
                        trained("dadaptadan", {"weight_decay=50", "no_prox=True"}, 1.0)));
  CHECK_THROWS_WITH_AS(trained("dadaptadan", {"betas=0.9,0.99"}, 1.0), doctest::Contains("three numbers"), base::Error);
}

}  // namespace cinnabar::optim
