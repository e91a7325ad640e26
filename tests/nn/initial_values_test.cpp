#include "cinnabar/nn/initial_values.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/nn/embedding.h"
#include "cinnabar/nn/layer.h"
#include "cinnabar/nn/norm.h"

namespace cinnabar::nn {

TEST_CASE("layers are uniform within the fan-in's bound, norms one and zero, tables normal") {
  Conv2d conv({.in = 4, .out = 50});
  set_initial_values(conv, "c", 1);
  // Fan-in 36: bound 1/6. 1,800 draws reach 0.99 of it for certain.
  CHECK(conv.weight.abs().max().item<double>() <= 1.0 / 6.0);
  CHECK(conv.weight.abs().max().item<double>() > 0.99 / 6.0);
  CHECK(conv.bias.abs().max().item<double>() <= 1.0 / 6.0);
  LayerNorm norm(3);
  set_initial_values(norm, "n", 1);
  CHECK(at::equal(norm.weight, at::ones({3})));
  CHECK(at::equal(norm.bias, at::zeros({3})));
  Embedding table(100, 100, 0.05);
  set_initial_values(table, "t", 1);
  CHECK(table.weight.std().item<double>() == doctest::Approx(0.05).epsilon(0.05));
}

TEST_CASE("values depend on seed and name alone") {
  Linear a(5, 5);
  Linear b(5, 5);
  set_initial_values(a, "x", 1);
  set_initial_values(b, "x", 1);
  CHECK(at::equal(a.weight, b.weight));
  set_initial_values(b, "y", 1);
  CHECK_FALSE(at::equal(a.weight, b.weight));
  set_initial_values(b, "x", 2);
  CHECK_FALSE(at::equal(a.weight, b.weight));
}

}  // namespace cinnabar::nn
