#include "cinnabar/optim/arguments.h"

#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::optim {

using schema::Level;
using schema::Option;
using schema::Type;

namespace {

constexpr const char* kGroup = "Optimizer";

Option plain_row(RowText text, Type type) {
  Option row{.name = std::move(text.name), .type = type, .group = kGroup, .level = Level::Expert};
  row.label = std::move(text.label);
  row.help = std::move(text.help);
  return row;
}

}  // namespace

Option number_row(RowText text, std::optional<double> fallback, schema::Range range) {
  Option row = plain_row(std::move(text), Type::Float);
  if (fallback) row.fallback = *fallback;
  row.range = range;
  return row;
}

Option whole_row(RowText text, int64_t fallback, schema::Range range) {
  Option row = plain_row(std::move(text), Type::Int);
  row.fallback = fallback;
  row.range = range;
  return row;
}

Option flag_row(RowText text, bool fallback) {
  Option row = plain_row(std::move(text), Type::Flag);
  row.fallback = fallback;
  return row;
}

Option betas_row(std::vector<double> fallback) {
  Option row =
      plain_row({"betas", "Betas", "How much of its running means of the gradient each step keeps."}, Type::FloatList);
  row.fallback = std::move(fallback);
  row.range = schema::Range{0.0, 0.999999};
  return row;
}

Option eps_row(double fallback) {
  return number_row({"eps", "Epsilon", "Added to the divisor, so that tiny gradients do not make huge steps."},
                    fallback, {0.0, 1.0});
}

Option positive_eps_row(double fallback) {
  Option row = eps_row(fallback);
  row.range = schema::Range{1e-30, 1.0};
  return row;
}

Option weight_decay_row(double fallback) {
  Option row =
      number_row({"weight_decay", "Weight decay", "Pulls parameters towards 0. Higher values hold the training back."},
                 fallback, {0.0, 100.0});
  row.typical = schema::Range{0.0, 0.1};
  row.level = Level::Advanced;
  return row;
}

Option min_8bit_size_row() {
  return whole_row({"min_8bit_size", "Smallest 8-bit tensor",
                    "Tensors with fewer elements keep their running means in 32 bits; they take little memory."},
                   4096, {0, 1e15});
}

Option averaging_row() {
  return number_row({"r", "Averaging power", "Higher values let later steps count more in the averaged result."}, 0.0,
                    {0.0, 100.0});
}

Option averaging_power_row() {
  return number_row(
      {"weight_lr_power", "Rate power", "How much steps during the warm-up count less in the averaged result."}, 2.0,
      {0.0, 100.0});
}

Option own_warmup_row() {
  return whole_row({"warmup_steps", "Own warm-up", "Steps over which the rate rises; lr_warmup_steps is not used."}, 0,
                   {0, 1e15});
}

Option first_estimate_row() {
  return number_row({"d0", "First estimate", "The step size that the search begins with; it only grows."}, 1e-6,
                    {1e-30, 1.0});
}

Option growth_rate_row() {
  return number_row({"growth_rate", "Growth limit",
                     "How much the step size may grow in one step, for example 1.02; without it there is no limit."},
                    std::nullopt, {1.0, 1e30});
}

std::vector<double> checked_betas(const schema::Values& values, size_t count) {
  std::vector<double> betas = values.numbers("betas");
  if (betas.size() != count) {
    const bool is_pair = count == 2;
    throw base::Error(base::ErrorCode::Config, "optimizer_args: betas: found " + std::to_string(betas.size()) +
                                                   " numbers, expected " + (is_pair ? "two numbers" : "three numbers") +
                                                   ", for example betas=" + (is_pair ? "0.9,0.999" : "0.98,0.92,0.99"));
  }
  return betas;
}

}  // namespace cinnabar::optim
