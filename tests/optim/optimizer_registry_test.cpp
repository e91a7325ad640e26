#include <doctest/doctest.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

namespace {

// A matrix large enough for 8-bit state, one below it, a kernel and a vector, in two groups.
struct Net {
  explicit Net(const std::string& name, std::vector<std::string> arguments = {}) {
    flat.add_group("unet", 0.1, {{"large", large}, {"small", small}, {"vector", vector}});
    flat.add_group("text_encoder", 0.1, {{"kernel", kernel}});
    optimizer = make_optimizer(name, arguments, flat);
    rate = optimizer->step_estimate() ? 1.0 : 0.1;
  }
  // The same gradients for the same step number.
  void step(int number) {
    for (const char* name : {"large", "small", "vector", "kernel"}) {
      const at::Tensor gradient = flat.gradient(name);
      gradient.copy_(at::sin(at::arange(gradient.numel(), at::kFloat) * (number + 1)).view(gradient.sizes()) + 0.2);
    }
    optimizer->step(std::vector<double>{rate, rate});
  }

  at::Tensor large = at::linspace(-1.0, 1.0, 4200).view({70, 60});
  at::Tensor small = at::linspace(0.5, 1.0, 30).view({5, 6});
  at::Tensor vector = at::ones({20});
  at::Tensor kernel = at::linspace(-0.5, 1.0, 54).view({2, 3, 3, 3});
  FlatParameters flat;
  std::unique_ptr<Optimizer> optimizer;
  double rate = 0.1;
};

bool is_same(const FlatParameters& a, const FlatParameters& b) {
  for (size_t i = 0; i < a.groups().size(); ++i) {
    if (!at::equal(a.groups()[i].values, b.groups()[i].values)) return false;
  }
  return true;
}

NamedTensors copied(Optimizer& optimizer) {
  NamedTensors result;
  for (const auto& [name, tensor] : optimizer.state()) result.emplace_back(name, tensor.clone());
  return result;
}

}  // namespace

TEST_CASE("every optimizer is described, has a page and steps against the gradient") {
  CHECK((entries().names() == factories().names()));
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    const Entry& entry = entries().at(name);
    CHECK(entry_name(entry.label) == name);
    for (const std::string& alias : entry.aliases) CHECK(entry_name(alias) == name);
    CHECK_FALSE(entry.help.empty());
    CHECK_FALSE(entry.reference_class.empty());
    CHECK(std::filesystem::exists(std::filesystem::path(CINNABAR_TESTS_DIR) / "../docs/optim" / (name + ".md")));

    at::Tensor weight = at::full({20}, 1.0);
    FlatParameters flat;
    flat.add_group("unet", 1.0, {{"weight", weight}});
    const auto optimizer = make_optimizer(name, {}, flat);
    const std::vector<double> rates{optimizer->step_estimate() ? 1.0 : 0.02};
    double lowest = 1.0;
    for (int step = 0; step < 20; ++step) {
      flat.zero_gradients();
      (weight * weight).sum().backward();
      optimizer->step(rates);
      lowest = std::min(lowest, weight.detach().max().item<double>());  // some overshoot and come back
    }
    CHECK(lowest < 1.0);
    CHECK(weight.detach().isfinite().all().item<bool>());
  }
}

TEST_CASE("a rate of 0 leaves parameters as they are, unless the optimizer has its own rates") {
  for (const std::string& name : entries().names()) {
    if (name == "adafactor") continue;
    CAPTURE(name);
    at::Tensor weight = at::full({20}, 1.0);
    at::Tensor other = at::full({2, 2}, 1.0);
    FlatParameters flat;
    flat.add_group("unet", 0.1, {{"weight", weight}});
    flat.add_group("text_encoder", 0.0, {{"other", other}});
    const auto optimizer = make_optimizer(name, {}, flat);
    const std::vector<double> rates{0.1, 0.0};
    for (int step = 0; step < 5; ++step) {
      for (const ParameterGroup& group : flat.groups()) group.gradients.fill_(0.5);
      optimizer->step(rates);
    }
    CHECK(at::equal(other.detach(), at::full({2, 2}, 1.0)));
  }
}

TEST_CASE("every optimizer goes on from its saved state bit by bit") {
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    Net unbroken(name);
    for (int i = 0; i < 4; ++i) unbroken.step(i);
    Net resumed(name);
    Net without_state(name);
    for (size_t i = 0; i < unbroken.flat.groups().size(); ++i) {
      resumed.flat.groups()[i].values.copy_(unbroken.flat.groups()[i].values);
      without_state.flat.groups()[i].values.copy_(unbroken.flat.groups()[i].values);
    }
    const NamedTensors saved = copied(*unbroken.optimizer);
    std::set<std::string> names;
    for (const auto& [state_name, tensor] : saved) names.insert(state_name);
    CHECK(names.size() == saved.size());
    restore_state(*resumed.optimizer, saved);
    for (int i = 4; i < 8; ++i) {
      unbroken.step(i);
      resumed.step(i);
      without_state.step(i);
    }
    CHECK(is_same(unbroken.flat, resumed.flat));
    // SGD has nothing to keep by default, and DAdaptLion's mean hardly matters while d is small.
    if (name == "sgd" || name == "dadaptlion") continue;
    CHECK_FALSE(is_same(unbroken.flat, without_state.flat));
  }
}

TEST_CASE("no optimizer depends on the number of threads") {
  const int threads = at::get_num_threads();
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    const auto train = [&](int count) {
      at::set_num_threads(count);
      at::Tensor weight = at::linspace(-1.0, 1.0, 40 * 501).view({40, 501});
      FlatParameters flat;
      flat.add_group("all", 1.0, {{"weight", weight}});
      const auto optimizer = make_optimizer(name, {}, flat);
      for (int step = 0; step < 2; ++step) {
        flat.gradient("weight").copy_(at::cos(at::arange(40 * 501, at::kFloat) * (step + 1)).view({40, 501}));
        optimizer->step(std::vector<double>{1.0});
      }
      return weight.detach().clone();
    };
    CHECK(at::equal(train(1), train(2)));
  }
  at::set_num_threads(threads);
}

TEST_CASE("evaluation and back changes schedule-free optimizers only, and by rounding at most") {
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    Net net(name);
    for (int i = 0; i < 8; ++i) net.step(i);
    const at::Tensor before = net.large.detach().clone();
    net.optimizer->enter_evaluation();
    net.optimizer->enter_evaluation();  // twice is once
    const bool is_moved = !at::equal(before, net.large.detach());
    CHECK(is_moved == (name == "adamwschedulefree" || name == "sgdschedulefree" || name == "radamschedulefree"));
    net.optimizer->enter_training();
    CHECK(at::allclose(before, net.large.detach(), 1e-5, 1e-6));
  }
}

}  // namespace cinnabar::optim
