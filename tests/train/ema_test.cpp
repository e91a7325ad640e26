#include "cinnabar/train/ema.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "cinnabar/optim/optimizer.h"
#include "cinnabar/train/evaluation_scope.h"

namespace {

using namespace cinnabar;
using train::Ema;

struct Trained {
  at::Tensor value = at::zeros({3}).requires_grad_(true);
  optim::FlatParameters parameters;

  explicit Trained(at::ScalarType stored = at::kFloat) {
    if (stored != at::kFloat) {
      parameters.set_stored_type(stored);
    }
    parameters.add_group("unet", 1.0, {{"a", value}});
  }
  void set(double number) {
    const at::NoGradGuard no_grad;
    at::Tensor values = parameters.groups()[0].values;
    values.fill_(number);
    parameters.store_values();
  }
  double seen() const { return value.detach()[0].to(at::kDouble).item<double>(); }
};

struct NoOptimizer : optim::Optimizer {
  void step(std::span<const double> /*rates*/) override {}
  optim::NamedTensors state() override { return {}; }
};

}  // namespace

TEST_CASE("the_average_follows_slowly_and_faster_at_the_start") {
  Trained trained;
  Ema ema(trained.parameters, {.decay = 0.5});
  CHECK(ema.decay_at(0) == doctest::Approx(0.1));
  CHECK(ema.decay_at(5) == doctest::Approx(0.4));
  CHECK(ema.decay_at(1000) == 0.5);
  trained.set(1.0);
  ema.after_step(1);  // 0 + 0.9 (1 - 0)
  trained.set(2.0);
  ema.after_step(2);  // decay 2 / 11
  ema.show();
  CHECK(trained.seen() == doctest::Approx(0.9 * 2.0 / 11.0 + 2.0 * 9.0 / 11.0));
}

TEST_CASE("updates_come_every_nth_step") {
  Trained trained;
  Ema ema(trained.parameters, {.update_every_steps = 3});
  trained.set(1.0);
  for (int64_t step = 1; step <= 5; ++step) ema.after_step(step);
  CHECK(ema.updates() == 1);
}

TEST_CASE("the_average_is_shown_for_a_while_and_training_goes_on_with_the_same_bits") {
  for (const at::ScalarType stored : {at::kFloat, at::kBFloat16}) {
    Trained trained(stored);
    Ema ema(trained.parameters, {});
    NoOptimizer optimizer;
    trained.set(1.0);
    ema.after_step(1);
    const double before = trained.seen();
    {
      const train::EvaluationScope scope(optimizer, trained.parameters, &ema);
      CHECK(trained.seen() == doctest::Approx(0.9).epsilon(1e-2));
      CHECK(trained.seen() != before);
    }
    CHECK(trained.seen() == before);
    CHECK(ema.state()[0].first == "average.unet");
    CHECK(ema.state()[0].second[0].item<double>() == doctest::Approx(0.9));
  }
}

TEST_CASE("without_the_option_there_is_no_average") {
  Trained trained;
  schema::Values values;
  CHECK(Ema::from(values, trained.parameters) == nullptr);
  values.set("ema", true);
  values.set("ema_decay", 0.25);
  CHECK(Ema::from(values, trained.parameters)->decay_at(100) == 0.25);
}
