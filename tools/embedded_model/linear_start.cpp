#include "linear_start.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/base/error.h"

namespace cinnabar::embedded {

namespace {

constexpr double kConstant = 6.0;  // the two constant channels of a group dominate its variance
constexpr double kShift = 6.0;     // SiLU(x + 6) is nearly x + 6
constexpr int64_t kGroups = 8;

const at::Tensor& get(const Parameters& vae, const std::string& name) {
  const auto found = vae.find(name);
  if (found == vae.end()) throw base::Error(base::ErrorCode::Internal, "the autoencoder has no parameter " + name);
  return found->second;
}

void scale(const Parameters& vae, const std::string& name, double factor) {
  get(vae, name + ".weight").mul_(factor);
  get(vae, name + ".bias").zero_();
}

void add(const at::Tensor& weight, int64_t out, int64_t in, int64_t row, int64_t column, double value) {
  weight[out][in][row][column].add_(value);
}

// Constant channels +K (last) and -K (last but one) of each group.
void write_constants(const at::Tensor& bias) {
  const int64_t width = bias.size(0) / kGroups;
  for (int64_t group = 0; group < kGroups; ++group) {
    bias[group * width + width - 1].fill_(kConstant);
    bias[group * width + width - 2].fill_(-kConstant);
  }
}

void write_linear_norm(const Parameters& vae, const std::string& name) {
  const at::Tensor& weight = get(vae, name + ".weight");
  const double width = static_cast<double>(weight.size(0)) / kGroups;
  weight.fill_(kConstant * std::sqrt(2.0 / width));
  get(vae, name + ".bias").fill_(kShift);
}

void zero_inner_blocks(const Parameters& vae) {
  for (const auto& [name, value] : vae) {
    const bool is_inner = name.find(".conv2.") != std::string::npos || name.find(".proj_out.") != std::string::npos;
    if (is_inner) value.zero_();
  }
}

void write_downsamplers(const Parameters& vae) {
  constexpr double kLuma[] = {0.30, 0.59, 0.11};
  for (const std::string level : {"0", "1"}) {
    const std::string name = "encoder.down." + level + ".downsample.conv";
    scale(vae, name, 0.02);
    const at::Tensor& weight = get(vae, name + ".weight");
    for (int64_t k = 0; k < 3; ++k) {
      for (int64_t row = 0; row < 2; ++row) {
        for (int64_t column = 0; column < 2; ++column) add(weight, k, k, row, column, 0.25);
      }
    }
    if (level == "0") continue;
    for (int64_t colour = 0; colour < 3; ++colour) {
      for (int64_t row = 0; row < 2; ++row) {
        for (int64_t column = 0; column < 2; ++column) {
          add(weight, 3, colour, row, column, (column == 0 ? 0.5 : -0.5) * kLuma[colour]);
          add(weight, 4, colour, row, column, (row == 0 ? 0.5 : -0.5) * kLuma[colour]);
        }
      }
    }
  }
}

void write_encoder(const Parameters& vae) {
  scale(vae, "encoder.conv_in", 0.02);
  for (int64_t k = 0; k < 3; ++k) add(get(vae, "encoder.conv_in.weight"), k, k, 1, 1, 1.0);
  write_downsamplers(vae);

  scale(vae, "encoder.down.2.block.0.nin_shortcut", 0.0004);
  const at::Tensor& shortcut = get(vae, "encoder.down.2.block.0.nin_shortcut.weight");
  const int64_t width = shortcut.size(0) / kGroups;
  shortcut.slice(0, 0, 5).slice(1, 0, 5).zero_();
  for (int64_t k = 0; k < 5; ++k) shortcut[k * width][k].fill_(1.0);
  write_constants(get(vae, "encoder.down.2.block.0.nin_shortcut.bias"));
  write_linear_norm(vae, "encoder.norm_out");

  scale(vae, "encoder.conv_out", 0.0);
  const at::Tensor& weight = get(vae, "encoder.conv_out.weight");
  const at::Tensor& bias = get(vae, "encoder.conv_out.bias");
  for (int64_t k = 0; k < 3; ++k) {
    add(weight, k, k * width, 1, 1, 4.0);
    bias[k].fill_(-4.0 * kShift);
  }
  add(weight, 3, 3 * width, 1, 1, 6.0);
  add(weight, 3, 4 * width, 1, 1, 6.0);
  bias[3].fill_(-12.0 * kShift);

  scale(vae, "quant_conv", 0.0);
  for (int64_t k = 0; k < 4; ++k) add(get(vae, "quant_conv.weight"), k, k, 0, 0, 1.0);
  get(vae, "quant_conv.bias").slice(0, 4, 8).fill_(-4.0);
}

void write_decoder(const Parameters& vae) {
  scale(vae, "post_quant_conv", 0.0);
  for (int64_t k = 0; k < 4; ++k) add(get(vae, "post_quant_conv.weight"), k, k, 0, 0, k < 3 ? 1.0 / 4 : 1.0 / 6);
  scale(vae, "decoder.conv_in", 0.02);
  for (int64_t k = 0; k < 4; ++k) add(get(vae, "decoder.conv_in.weight"), k, k, 1, 1, 1.0);

  scale(vae, "decoder.up.1.block.0.nin_shortcut", 0.02);
  const at::Tensor& shortcut = get(vae, "decoder.up.1.block.0.nin_shortcut.weight");
  for (int64_t k = 0; k < 5; ++k) add(shortcut, k, k, 0, 0, 1.0);

  const at::Tensor tap = at::tensor({1.0F, 2.0F, 1.0F}) / 4;
  const at::Tensor binomial = at::outer(tap, tap);
  scale(vae, "decoder.up.2.upsample.conv", 0.02);
  scale(vae, "decoder.up.1.upsample.conv", 0.02);
  const at::Tensor& first = get(vae, "decoder.up.2.upsample.conv.weight");
  const at::Tensor& last = get(vae, "decoder.up.1.upsample.conv.weight");
  const int64_t width = last.size(0) / kGroups;
  last.slice(0, 0, 4).mul_(0.25);
  for (int64_t k = 0; k < 4; ++k) {
    first[k][k].add_(binomial);
    last[k * width][k].add_(binomial);
  }
  write_constants(get(vae, "decoder.up.1.upsample.conv.bias"));
  write_linear_norm(vae, "decoder.norm_out");

  scale(vae, "decoder.conv_out", 0.0);
  for (int64_t k = 0; k < 3; ++k) {
    add(get(vae, "decoder.conv_out.weight"), k, k * width, 1, 1, 1.0);
    get(vae, "decoder.conv_out.bias")[k].fill_(-kShift);
  }
}

}  // namespace

Parameters parameters_of(nn::Module& module) {
  Parameters result;
  module.each_parameter("", [&](const std::string& name, at::Tensor& value) { result[name] = value; });
  return result;
}

void write_linear_start(const Parameters& vae) {
  const at::NoGradGuard no_grad;
  zero_inner_blocks(vae);
  write_encoder(vae);
  write_decoder(vae);
}

void fold_statistics(const Parameters& vae, const at::Tensor& mean, const at::Tensor& deviation) {
  const at::NoGradGuard no_grad;
  const at::Tensor factor = (0.18215 * deviation).reciprocal();  // [4]
  const at::Tensor means = get(vae, "quant_conv.weight").slice(0, 0, 4);
  const at::Tensor bias = get(vae, "quant_conv.bias");
  means.mul_(factor.view({4, 1, 1, 1}));
  bias.slice(0, 0, 4).sub_(mean).mul_(factor);
  bias.slice(0, 4, 8).add_(2 * factor.log());
  const at::Tensor post = get(vae, "post_quant_conv.weight");
  get(vae, "post_quant_conv.bias").add_(at::mv(post.view({4, 4}), mean));
  post.div_(factor.view({1, 4, 1, 1}));
}

}  // namespace cinnabar::embedded
