#include "cinnabar/train/validation_verdict.h"

#include <limits>

#include <doctest/doctest.h>

namespace {

using cinnabar::train::to_text;
using cinnabar::train::Trend;
using cinnabar::train::ValidationLoss;
using cinnabar::train::Verdict;
using cinnabar::train::verdict_of;

// Measured every 100 steps.
Verdict of(const std::vector<double>& losses) {
  std::vector<ValidationLoss> series;
  for (const double loss : losses) series.push_back({static_cast<int64_t>(series.size() + 1) * 100, loss});
  return verdict_of(series);
}

}  // namespace

TEST_CASE("falling_losses_are_improving") {
  const Verdict verdict = of({0.20, 0.18, 0.17, 0.165});
  CHECK(verdict.trend == Trend::Improving);
  CHECK(verdict.best_step == 400);
  CHECK(verdict.best_loss == 0.165);
}

TEST_CASE("two_losses_above_the_lowest_are_likely_overfitting") {
  const Verdict verdict = of({0.20, 0.15, 0.16, 0.17});
  CHECK(verdict.trend == Trend::Rising);
  CHECK(verdict.since_step == 200);
  CHECK(to_text(verdict, "cat-step00000200.safetensors", 200) ==
        "rising since step 200: likely overfitting. The best was step 200 (loss 0.15); the nearest saved file is "
        "cat-step00000200.safetensors");
}

TEST_CASE("far_above_the_lowest_a_small_fall_is_overfitting_still") {
  const Verdict verdict = of({0.8, 0.5, 1.4, 2.6, 2.5});
  CHECK(verdict.trend == Trend::Rising);
  CHECK(verdict.since_step == 200);
}

TEST_CASE("one_bump_is_no_overfitting") {
  CHECK(of({0.20, 0.15, 0.16}).trend != Trend::Rising);
  CHECK(of({0.20, 0.15, 0.17, 0.149}).trend == Trend::Improving);
  CHECK(of({0.20, 0.15, 0.18, 0.16}).trend == Trend::Above);  // on its way back
  CHECK(of({0.20, 0.15, 0.16}).trend == Trend::Above);
  CHECK(to_text(of({0.20, 0.15, 0.16}), "cat.safetensors", 300) ==
        "above the best; the next measurements show whether it falls again. The best was step 200 (loss 0.15); the "
        "nearest saved file is cat.safetensors of step 300");
}

TEST_CASE("losses_that_hardly_change_are_flat") {
  const Verdict verdict = of({0.20, 0.1502, 0.1500, 0.1501, 0.1499});
  CHECK(verdict.trend == Trend::Flat);
  CHECK(verdict.since_step == 200);
  CHECK(to_text(verdict, "", 0)
            .starts_with("flat since step 200 (it has learned what it can, or its learning rate is too low). The best "
                         "was step 500"));
}

TEST_CASE("two_measurements_are_too_few") {
  CHECK(of({}).trend == Trend::TooFew);
  CHECK(to_text(of({}), "", 0) == "too few measurements for a verdict");
  CHECK(of({0.2, 0.3}).trend == Trend::TooFew);
  CHECK(of({0.2, 0.3}).best_step == 100);
}

TEST_CASE("a_lost_run_is_called_so_and_keeps_its_best_step") {
  const Verdict verdict = of({0.2, 0.1, std::numeric_limits<double>::quiet_NaN()});
  CHECK(verdict.trend == Trend::NotFinite);
  CHECK(verdict.best_step == 200);
}
