// Two models with the same tensors: names, shapes and numbers.
#pragma once

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/models/model_family.h"

namespace cinnabar::models {

inline void check_same_weights(DiffusionModel& a, DiffusionModel& b) {
  const auto first = state_tensors(a);
  const auto second = state_tensors(b);
  REQUIRE(first.size() == second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    CAPTURE(first[i].first);
    CHECK(first[i].first == second[i].first);
    CHECK(at::equal(first[i].second, second[i].second));
  }
}

}  // namespace cinnabar::models
