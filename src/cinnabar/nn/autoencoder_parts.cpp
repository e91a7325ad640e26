#include "cinnabar/nn/autoencoder_parts.h"

#include <ranges>
#include <string>

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "cinnabar/nn/attention.h"
#include "cinnabar/nn/checkpointing.h"

namespace cinnabar::nn {

namespace {

constexpr double kEpsilon = 1e-6;
constexpr int64_t kPictureChannels = 3;

ConvOptions pointwise(int64_t in, int64_t out) { return {.in = in, .out = out, .kernel = 1, .padding = 0}; }

}  // namespace

AutoencoderBlock::AutoencoderBlock(int64_t in, int64_t out, int64_t groups)
    : norm1_(groups, in, kEpsilon),
      conv1_({.in = in, .out = out}),
      norm2_(groups, out, kEpsilon),
      conv2_({.in = out, .out = out}) {
  add("norm1", norm1_);
  add("conv1", conv1_);
  add("norm2", norm2_);
  add("conv2", conv2_);
  if (in != out) {
    shortcut_ = std::make_unique<Conv2d>(pointwise(in, out));
    add("nin_shortcut", *shortcut_);
  }
}

at::Tensor AutoencoderBlock::forward(const at::Tensor& x) const {
  return run_segment(is_training() && checkpointing(),
                     [this](const std::vector<at::Tensor>& inputs) { return inner_forward(inputs[0]); }, {x});
}

at::Tensor AutoencoderBlock::inner_forward(const at::Tensor& x) const {
  const at::Tensor h = conv1_.forward(norm1_.forward_silu(x));
  return conv2_.forward(norm2_.forward_silu(h), {.add = shortcut_ ? shortcut_->forward(x) : x});
}

AutoencoderAttention::AutoencoderAttention(int64_t channels, int64_t groups)
    : norm_(groups, channels, kEpsilon),
      q_(pointwise(channels, channels)),
      k_(pointwise(channels, channels)),
      v_(pointwise(channels, channels)),
      proj_out_(pointwise(channels, channels)) {
  add("norm", norm_);
  add("q", q_);
  add("k", k_);
  add("v", v_);
  add("proj_out", proj_out_);
}

at::Tensor AutoencoderAttention::forward(const at::Tensor& x) const {
  const at::Tensor normed = norm_.forward(x);
  const at::Tensor mixed = attention(to_rows(q_.forward(normed)), to_rows(k_.forward(normed)),
                                     to_rows(v_.forward(normed)), 1);  // [B, H*W, C]
  return x + proj_out_.forward(mixed.transpose(1, 2).reshape(x.sizes()));
}

AutoencoderMiddle::AutoencoderMiddle(int64_t channels, int64_t groups)
    : block_1_(channels, channels, groups), attn_1_(channels, groups), block_2_(channels, channels, groups) {
  add("block_1", block_1_);
  add("attn_1", attn_1_);
  add("block_2", block_2_);
}

at::Tensor AutoencoderMiddle::forward(const at::Tensor& x) const {
  return block_2_.forward(attn_1_.forward(block_1_.forward(x)));
}

AutoencoderEncoder::AutoencoderEncoder(const AutoencoderConfig& config)
    : conv_in_({.in = kPictureChannels, .out = config.levels.front().width}),
      middle_(config.levels.back().width, config.groups),
      norm_out_(config.groups, config.levels.back().width, kEpsilon),
      conv_out_({.in = config.levels.back().width, .out = 2 * config.latent_channels}) {
  add("conv_in", conv_in_);
  int64_t width = config.levels.front().width;
  for (size_t i = 0; i < config.levels.size(); ++i) {
    const std::string name = "down." + std::to_string(i);
    Level level;
    for (int64_t j = 0; j < config.levels[i].encoder_blocks; ++j) {
      level.blocks.push_back(std::make_unique<AutoencoderBlock>(width, config.levels[i].width, config.groups));
      width = config.levels[i].width;
      add(name + ".block." + std::to_string(j), *level.blocks.back());
    }
    if (i + 1 < config.levels.size()) {
      // Padded by hand on the right and below only.
      level.downsample = std::make_unique<Conv2d>(ConvOptions{.in = width, .out = width, .stride = 2, .padding = 0});
      add(name + ".downsample.conv", *level.downsample);
    }
    levels_.push_back(std::move(level));
  }
  add("mid", middle_);
  add("norm_out", norm_out_);
  add("conv_out", conv_out_);
}

at::Tensor AutoencoderEncoder::forward(const at::Tensor& pixels) const {
  at::Tensor h = conv_in_.forward(pixels);
  for (const Level& level : levels_) {
    for (const auto& block : level.blocks) h = block->forward(h);
    if (level.downsample) h = level.downsample->forward(at::constant_pad_nd(h, {0, 1, 0, 1}));
  }
  return conv_out_.forward(norm_out_.forward_silu(middle_.forward(h)));
}

AutoencoderDecoder::AutoencoderDecoder(const AutoencoderConfig& config)
    : conv_in_({.in = config.latent_channels, .out = config.levels.back().width}),
      middle_(config.levels.back().width, config.groups),
      levels_(config.levels.size()),
      norm_out_(config.groups, config.levels.front().width, kEpsilon),
      conv_out_({.in = config.levels.front().width, .out = kPictureChannels}) {
  add("conv_in", conv_in_);
  add("mid", middle_);
  int64_t width = config.levels.back().width;
  for (size_t i = config.levels.size(); i-- > 0;) {
    const std::string name = "up." + std::to_string(i);
    for (int64_t j = 0; j < config.levels[i].decoder_blocks; ++j) {
      levels_[i].blocks.push_back(std::make_unique<AutoencoderBlock>(width, config.levels[i].width, config.groups));
      width = config.levels[i].width;
      add(name + ".block." + std::to_string(j), *levels_[i].blocks.back());
    }
    if (i > 0) {
      levels_[i].upsample = std::make_unique<Conv2d>(ConvOptions{.in = width, .out = width});
      add(name + ".upsample.conv", *levels_[i].upsample);
    }
  }
  add("norm_out", norm_out_);
  add("conv_out", conv_out_);
}

at::Tensor AutoencoderDecoder::forward(const at::Tensor& latents) const {
  at::Tensor h = middle_.forward(conv_in_.forward(latents));
  for (const Level& level : std::views::reverse(levels_)) {
    for (const auto& block : level.blocks) h = block->forward(h);
    if (level.upsample) h = level.upsample->forward(at::upsample_nearest2d(h, {2 * h.size(2), 2 * h.size(3)}));
  }
  return conv_out_.forward(norm_out_.forward_silu(h));
}

}  // namespace cinnabar::nn
