// Every key of optimizer_args changes what its optimizer does.
#include <map>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

namespace {

struct Change {
  std::string value;                // of the second run
  std::vector<std::string> with{};  // arguments of both runs
};

// By "optimizer.key" or by "key" for all; a key that is missing here fails the test.
const std::map<std::string, Change>& changes() {
  static const std::map<std::string, Change> all{
      {"adafactor.eps", {"1e-3,0.5"}},
      {"came.eps", {"1e-3,1e-3"}},
      {"clip_threshold", {"0.01"}},
      {"decay_rate", {"-0.1"}},
      {"adafactor.beta1", {"0.5"}},
      {"scale_parameter", {"False"}},
      {"relative_step", {"False"}},
      {"warmup_init", {"True"}},
      {"eps", {"0.1"}},
      {"weight_decay", {"0.3"}},
      {"amsgrad", {"True"}},
      {"min_8bit_size", {"100000"}},
      {"warmup_steps", {"5"}},
      {"r", {"2.0"}},
      {"adamwschedulefree.weight_lr_power", {"0.0", {"warmup_steps=5"}}},
      {"sgdschedulefree.weight_lr_power", {"0.0", {"warmup_steps=5"}}},
      {"weight_lr_power", {"0.0"}},
      {"silent_sgd_phase", {"False"}},
      {"momentum", {"0.5"}},
      {"dampening", {"0.5", {"momentum=0.9"}}},
      {"nesterov", {"True", {"momentum=0.9"}}},
      {"d0", {"1e-3"}},
      {"d_coef", {"0.5"}},
      {"growth_rate", {"1.0001"}},
      {"decouple", {"", {"weight_decay=0.3"}}},
      {"use_bias_correction", {"True"}},
      {"safeguard_warmup", {"True", {"use_bias_correction=True"}}},
      {"no_prox", {"True", {"weight_decay=0.3"}}},
      {"decoupled_weight_decay", {"", {"weight_decay=0.3"}}},
      {"beta3", {"0.5"}},
      {"slice_p", {"4"}},
  };
  return all;
}

// 0.5, 0.6, 0.7: as many as the fallback has.
std::string betas_like(const schema::Option& option) {
  const size_t count = std::get<std::vector<double>>(option.fallback).size();
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "0." : ",0.") + std::to_string(i + 5);
  return text;
}

Change change_of(const std::string& entry, const schema::Option& option) {
  if (option.name == "betas") return {betas_like(option)};
  auto found = changes().find(entry + "." + option.name);
  if (found == changes().end()) found = changes().find(option.name);
  REQUIRE_MESSAGE(found != changes().end(), entry, ": ", option.name, " has no row in argument_effects_test.cpp");
  Change change = found->second;
  if (change.value.empty()) change.value = std::get<bool>(option.fallback) ? "False" : "True";
  return change;
}

// What is left of a matrix that 8-bit states are made for after some steps whose gradients agree at first.
at::Tensor trained_matrix(const std::string& entry, const std::vector<std::string>& arguments) {
  at::Tensor weight = at::linspace(-1.0, 1.0, 4200).view({70, 60});
  FlatParameters flat;
  flat.add_group("unet", 0.05, {{"weight", weight}});
  const auto optimizer = make_optimizer(entry, arguments, flat);
  const std::vector<double> rates{optimizer->step_estimate() ? 1.0 : 0.05};
  for (int step = 0; step < 12; ++step) {
    flat.zero_gradients();
    at::Tensor gradient = flat.gradient("weight");
    gradient.copy_(at::sin(at::arange(4200, at::kFloat) * (step * 0.1 + 1.0)).view({70, 60}) + weight.detach());
    optimizer->step(rates);
  }
  optimizer->enter_evaluation();
  return weight.detach().clone();
}

}  // namespace

TEST_CASE("every optimizer argument changes the training") {
  for (const std::string& name : entries().names()) {
    for (const schema::Option& option : entries().at(name).options) {
      CAPTURE(name);
      CAPTURE(option.name);
      const Change change = change_of(name, option);
      std::vector<std::string> arguments = change.with;
      const at::Tensor before = trained_matrix(name, arguments);
      arguments.push_back(option.name + "=" + change.value);
      const at::Tensor after = trained_matrix(name, arguments);
      CHECK(after.isfinite().all().item<bool>());
      CHECK_FALSE(at::equal(before, after));
    }
  }
}

}  // namespace cinnabar::optim
