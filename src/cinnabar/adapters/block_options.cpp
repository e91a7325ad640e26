#include "cinnabar/adapters/block_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "cinnabar/base/error.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/base/trimmed.h"

namespace cinnabar::adapters {

namespace {

// x runs from 0 at the first block to 1 at the last.
struct Curve {
  const char* name;
  double (*at)(double x);
};

constexpr std::array<Curve, 5> kCurves{{
    {"cosine", [](double x) { return std::sin(std::numbers::pi / 2.0 * (1.0 - x)); }},
    {"sine", [](double x) { return std::sin(std::numbers::pi / 2.0 * x); }},
    {"linear", [](double x) { return x; }},
    {"reverse_linear", [](double x) { return 1.0 - x; }},
    {"zeros", [](double /*x*/) { return 0.0; }},
}};

const Curve* find_curve(const std::string& name) {
  for (const Curve& curve : kCurves) {
    if (name == curve.name) return &curve;
  }
  return nullptr;
}

std::optional<double> to_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_whole_text = !text.empty() && *end == '\0' && std::isfinite(value);
  return is_whole_text ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse(const std::string& name, const std::string& text, const std::string& why) {
  throw base::Error(base::ErrorCode::Config, "network_args: " + name + " = \"" + text + "\": " + why);
}

BlockWeights read_curve(const std::string& name, const std::string& text) {
  const size_t plus = text.find('+');
  const std::string curve = base::trimmed(text.substr(0, plus));
  if (find_curve(curve) == nullptr) {
    std::vector<std::string> names;
    for (const Curve& known : kCurves) names.emplace_back(known.name);
    const std::string near = base::nearest_name(curve, names);
    refuse(name, text,
           "expected one number a block with commas between, or one of cosine, sine, linear, reverse_linear, zeros" +
               (near.empty() ? std::string() : "; did you mean " + near + "?"));
  }
  BlockWeights weights{.curve = curve};
  if (plus == std::string::npos) return weights;
  const std::optional<double> added = to_number(base::trimmed(text.substr(plus + 1)));
  if (!added) refuse(name, text, "expected a number behind the + (for example " + curve + "+0.25)");
  weights.added = *added;
  return weights;
}

// An empty place in a list counts as 0.
std::optional<BlockWeights> read_weights(const schema::Values& args, const std::string& name) {
  if (!args.has(name)) return std::nullopt;
  const std::string text = args.text(name);
  const bool is_list =
      text.find(',') != std::string::npos || (name == "mid_lr_weight" && to_number(base::trimmed(text)));
  if (!is_list) {
    if (name == "mid_lr_weight") refuse(name, text, "expected one number a block with commas between");
    return read_curve(name, text);
  }
  BlockWeights weights;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find(',', start), text.size());
    const std::string item = base::trimmed(text.substr(start, end - start));
    const std::optional<double> value = item.empty() ? std::optional(0.0) : to_number(item);
    if (!value || *value < 0.0) refuse(name, text, "\"" + item + "\" is not a number of 0 or more");
    weights.values.push_back(*value);
    start = end + 1;
  }
  return weights;
}

std::vector<int64_t> read_ranks(const schema::Values& args, const std::string& name) {
  std::vector<int64_t> ranks;
  for (const double value : args.numbers(name)) {
    if (value != std::floor(value)) {
      throw base::Error(base::ErrorCode::Config,
                        "network_args: " + name + ": expected whole numbers, found " + std::to_string(value));
    }
    ranks.push_back(static_cast<int64_t>(value));
  }
  return ranks;
}

}  // namespace

std::vector<double> BlockWeights::over(size_t count) const {
  std::vector<double> result = values;
  result.resize(count, 1.0);
  const Curve* shape = find_curve(curve);
  if (shape == nullptr) return result;
  const double last = count > 1 ? static_cast<double>(count - 1) : 1.0;
  for (size_t i = 0; i < count; ++i) result[i] = shape->at(static_cast<double>(i) / last) + added;
  return result;
}

std::vector<schema::Option> block_option_rows() {
  using schema::Option;
  using schema::Range;
  using schema::Type;
  const auto row = [](const char* name, Type type, const char* label, const char* help) {
    return Option{
        .name = name, .type = type, .group = "Method", .level = schema::Level::Expert, .label = label, .help = help};
  };
  std::vector<Option> rows{
      row("down_lr_weight", Type::Text, "Rates of down blocks",
          "Learning rate of each down block over the U-Net's: 12 numbers (SDXL 9) with commas between, or cosine, "
          "sine, "
          "linear, reverse_linear or zeros, with +NUMBER to add to all. Blocks with 0 get no adapter."),
      row("mid_lr_weight", Type::Text, "Rates of middle blocks", "The same for the middle: 1 number (SDXL 3)."),
      row("up_lr_weight", Type::Text, "Rates of up blocks", "The same for the up blocks: 12 numbers (SDXL 9)."),
      row("block_lr_zero_threshold", Type::Float, "Zero threshold", "Block rates up to this number count as 0."),
      row("block_dims", Type::FloatList, "Ranks by block",
          "Rank of each block of the U-Net: 25 numbers (SDXL 23). 0 leaves the block out."),
      row("block_alphas", Type::FloatList, "Alphas by block",
          "Alpha of each block; without it network_alpha. Needs block_dims or a rate of blocks."),
      row("conv_block_dims", Type::FloatList, "Convolution ranks by block",
          "Rank of the convolutions of each block; without it conv_dim. Needs block_dims or a rate of blocks."),
      row("conv_block_alphas", Type::FloatList, "Convolution alphas by block",
          "Alpha of the convolutions of each block; without it conv_alpha. Needs conv_block_dims."),
  };
  for (Option& option : rows) {
    if (option.type == Type::FloatList) option.range = Range{0, option.name.ends_with("dims") ? 4096.0 : 1e6};
    if (option.type == Type::Float) option.range = Range{0, 1e6};
  }
  return rows;
}

BlockOptions read_block_options(const schema::Values& args) {
  return {.dims = read_ranks(args, "block_dims"),
          .alphas = args.numbers("block_alphas"),
          .conv_dims = read_ranks(args, "conv_block_dims"),
          .conv_alphas = args.numbers("conv_block_alphas"),
          .down = read_weights(args, "down_lr_weight"),
          .mid = read_weights(args, "mid_lr_weight"),
          .up = read_weights(args, "up_lr_weight"),
          .zero_threshold = args.maybe_number("block_lr_zero_threshold").value_or(0.0)};
}

}  // namespace cinnabar::adapters
