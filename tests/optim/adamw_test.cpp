#include <doctest/doctest.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

namespace {

const std::vector<double> kRates{0.01};

// `steps` steps with fixed pseudo-random gradients; returns the parameter after them.
at::Tensor train(const std::string& type, const std::vector<std::string>& arguments, int64_t size, int steps = 10) {
  at::Tensor weight = at::linspace(-1.0, 1.0, size);
  FlatParameters flat;
  flat.add_group("all", 0.01, {{"weight", weight}});
  const auto optimizer = make_optimizer(type, arguments, flat);
  for (int step = 0; step < steps; ++step) {
    flat.gradient("weight").copy_(at::sin(at::arange(size, at::kFloat) * (step + 1)));
    optimizer->step(kRates);
  }
  return weight.detach().clone();
}

}  // namespace

TEST_CASE("the first AdamW step is the decay and a step of the size of the rate") {
  at::Tensor weight = at::full({3}, 2.0);
  FlatParameters flat;
  flat.add_group("all", 0.01, {{"weight", weight}});
  const auto optimizer = make_optimizer("AdamW", {"weight_decay=0.5"}, flat);
  flat.gradient("weight").copy_(at::tensor({10.0F, -0.1F, 0.0F}));
  optimizer->step(kRates);
  const double decayed = 2.0 * (1.0 - 0.01 * 0.5);
  CHECK(weight.detach()[0].item<double>() == doctest::Approx(decayed - 0.01));
  CHECK(weight.detach()[1].item<double>() == doctest::Approx(decayed + 0.01));
  CHECK(weight.detach()[2].item<double>() == doctest::Approx(decayed));
}

TEST_CASE("Adam's decay goes through the gradient") {
  at::Tensor weight = at::full({1}, 2.0);
  FlatParameters flat;
  flat.add_group("all", 0.01, {{"weight", weight}});
  const auto optimizer = make_optimizer("adam", {"weight_decay=0.5"}, flat);
  optimizer->step(kRates);  // gradient 0: the decay alone makes a full step
  CHECK(weight.detach().item<double>() == doctest::Approx(1.99));
}

TEST_CASE("arguments change the steps") {
  const at::Tensor plain = train("adamw", {}, 40);
  CHECK_FALSE(at::equal(plain, train("adamw", {"betas=0.5,0.9"}, 40)));
  CHECK_FALSE(at::equal(plain, train("adamw", {"eps=0.1"}, 40)));
  CHECK_FALSE(at::equal(plain, train("adamw", {"amsgrad=True"}, 40)));
  CHECK(at::equal(plain, train("", {"betas=(0.9, 0.999)", "eps=1e-8", "weight_decay=0.01"}, 40)));
}

TEST_CASE("a restored run continues bit by bit") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"amsgrad=True"}}) {
    at::Tensor a = at::linspace(-1.0, 1.0, 37);
    at::Tensor b = at::zeros({37});
    FlatParameters flat_a;
    FlatParameters flat_b;
    flat_a.add_group("all", 0.01, {{"weight", a}});
    flat_b.add_group("all", 0.01, {{"weight", b}});
    const auto first = make_optimizer("adamw", arguments, flat_a);
    const auto second = make_optimizer("adamw", arguments, flat_b);
    const auto step = [](FlatParameters& flat, Optimizer& optimizer, int number) {
      flat.gradient("weight").copy_(at::cos(at::arange(37, at::kFloat) * (number + 1)));
      optimizer.step(kRates);
    };
    for (int i = 0; i < 5; ++i) step(flat_a, *first, i);
    flat_b.value("weight").copy_(flat_a.value("weight"));
    NamedTensors saved;
    for (const auto& [name, tensor] : first->state()) saved.emplace_back(name, tensor.clone());
    restore_state(*second, saved);
    for (int i = 5; i < 10; ++i) {
      step(flat_a, *first, i);
      step(flat_b, *second, i);
    }
    CHECK(at::equal(a.detach(), b.detach()));
  }
}

TEST_CASE("steps do not depend on the number of threads") {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = train("adamw", {}, 70'003, 2);
  at::set_num_threads(2);
  const at::Tensor two = train("adamw", {}, 70'003, 2);
  at::set_num_threads(threads);
  CHECK(at::equal(one, two));
}

TEST_CASE("wrong names and arguments are refused") {
  FlatParameters flat;
  const auto make = [&](const std::string& type, const std::vector<std::string>& arguments) {
    return make_optimizer(type, arguments, flat);
  };
  CHECK_THROWS_WITH_AS(make("AdamV", {}), doctest::Contains("did you mean"), base::Error);
  CHECK_THROWS_WITH_AS(make("AdamW", {"beta=0.9,0.99"}), doctest::Contains("did you mean \"betas\"?"), base::Error);
  CHECK_THROWS_WITH_AS(make("AdamW", {"betas=0.9"}), doctest::Contains("two numbers"), base::Error);
  CHECK_THROWS_WITH_AS(make("AdamW", {"betas=0.9,1.5"}), doctest::Contains("betas"), base::Error);
  CHECK_THROWS_WITH_AS(make("AdamW", {"eps"}), doctest::Contains("key=value"), base::Error);
}

TEST_CASE("a state of another run is refused and changes nothing") {
  at::Tensor weight = at::zeros({3});
  FlatParameters flat;
  flat.add_group("all", 0.01, {{"weight", weight}});
  const auto optimizer = make_optimizer("adamw", {}, flat);
  NamedTensors saved;
  for (const auto& [name, tensor] : optimizer->state()) saved.emplace_back(name, at::ones_like(tensor));
  saved.back().second = at::ones({7});
  CHECK_THROWS_WITH_AS(restore_state(*optimizer, saved), doctest::Contains("another"), base::Error);
  try {
    restore_state(*optimizer, saved);
  } catch (const base::Error& error) {
    CHECK(base::exit_status(error.code()) == 2);  // the options are wrong, not the file
  }
  CHECK(optimizer->state()[0].second.abs().sum().item<float>() == 0.0F);
  saved.pop_back();
  CHECK_THROWS_WITH_AS(restore_state(*optimizer, saved), doctest::Contains("expected"), base::Error);
}

}  // namespace cinnabar::optim
