#include "cinnabar/nn/unet.h"

#include <string>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/timestep_embedding.h"

namespace cinnabar::nn {

namespace {

std::unique_ptr<Conv2d> make_conv(int64_t channels, int64_t stride) {
  return std::make_unique<Conv2d>(ConvOptions{.in = channels, .out = channels, .stride = stride});
}

UNetConfig checked(UNetConfig config) {
  CINNABAR_ASSERT(!config.levels.empty());
  return config;
}

}  // namespace

UNet::UNet(UNetConfig config)
    : config_(checked(std::move(config))),
      time_in_(config_.model_channels, config_.time_width),
      time_out_(config_.time_width, config_.time_width),
      conv_in_({.in = config_.in_channels, .out = config_.model_channels}),
      norm_out_(config_.groups, config_.levels.front().width, 1e-5),
      conv_out_({.in = config_.levels.front().width, .out = config_.out_channels}) {
  add("time_embed.0", time_in_);
  add("time_embed.2", time_out_);
  if (config_.vector_width > 0) {
    vector_in_ = std::make_unique<Linear>(config_.vector_width, config_.time_width);
    vector_out_ = std::make_unique<Linear>(config_.time_width, config_.time_width);
    add("label_emb.0.0", *vector_in_);
    add("label_emb.0.2", *vector_out_);
  }
  add("input_blocks.0.0", conv_in_);
  add_input_blocks();
  add_middle();
  add_output_blocks();
  add("out.0", norm_out_);
  add("out.2", conv_out_);
}

std::unique_ptr<ResnetBlock> UNet::make_resnet(int64_t in, int64_t out) const {
  return std::make_unique<ResnetBlock>(
      ResnetBlockOptions{.in = in, .out = out, .time_width = config_.time_width, .groups = config_.groups});
}

std::unique_ptr<SpatialTransformer> UNet::make_transformer(int64_t channels, int64_t depth, int64_t heads) const {
  if (depth == 0) return nullptr;
  return std::make_unique<SpatialTransformer>(
      SpatialTransformerOptions{.channels = channels,
                                .context_width = config_.context_width,
                                .heads = heads,
                                .depth = depth,
                                .groups = config_.groups,
                                .has_linear_projection = config_.has_linear_projection});
}

void UNet::add_input_blocks() {
  int64_t width = config_.model_channels;
  skip_widths_.push_back(width);
  const auto place = [&](Block block) {
    const std::string name = "input_blocks." + std::to_string(input_blocks_.size() + 1);
    input_blocks_.push_back(std::move(block));
    const Block& placed = input_blocks_.back();
    if (placed.resnet) add(name + ".0", *placed.resnet);
    if (placed.transformer) add(name + ".1", *placed.transformer);
    if (placed.resample) add(name + ".0.op", *placed.resample);
    skip_widths_.push_back(width);
  };
  for (size_t i = 0; i < config_.levels.size(); ++i) {
    const UNetLevel& level = config_.levels[i];
    for (int64_t j = 0; j < level.res_blocks; ++j) {
      Block block;
      block.resnet = make_resnet(width, level.width);
      block.transformer = make_transformer(level.width, level.depth, level.heads);
      width = level.width;
      place(std::move(block));
    }
    if (i + 1 == config_.levels.size()) break;
    Block down;
    down.resample = make_conv(width, 2);
    place(std::move(down));
  }
}

void UNet::add_middle() {
  const int64_t width = config_.levels.back().width;
  middle_in_ = make_resnet(width, width);
  middle_transformer_ = make_transformer(width, config_.middle_depth, config_.middle_heads);
  middle_out_ = make_resnet(width, width);
  add("middle_block.0", *middle_in_);
  if (middle_transformer_) add("middle_block.1", *middle_transformer_);
  add(middle_transformer_ ? "middle_block.2" : "middle_block.1", *middle_out_);
}

void UNet::add_output_blocks() {
  int64_t width = config_.levels.back().width;
  std::vector<int64_t> skips = skip_widths_;
  for (size_t i = config_.levels.size(); i-- > 0;) {
    const UNetLevel& level = config_.levels[i];
    for (int64_t j = 0; j <= level.res_blocks; ++j) {
      const std::string name = "output_blocks." + std::to_string(output_blocks_.size());
      Block block;
      block.resnet = make_resnet(width + skips.back(), level.width);
      skips.pop_back();
      width = level.width;
      add(name + ".0", *block.resnet);
      block.transformer = make_transformer(width, level.depth, level.heads);
      if (block.transformer) add(name + ".1", *block.transformer);
      if (i > 0 && j == level.res_blocks) {
        block.resample = make_conv(width, 1);
        add(name + (block.transformer ? ".2.conv" : ".1.conv"), *block.resample);
      }
      output_blocks_.push_back(std::move(block));
    }
  }
}

at::Tensor UNet::embed(const at::Tensor& t, const at::Tensor& vector, at::ScalarType dtype) const {
  // fp32 sinusoids, then the model's type.
  const at::Tensor sinusoids = timestep_embedding(t, config_.model_channels).to(dtype);
  at::Tensor time = time_out_.forward(at::silu(time_in_.forward(sinusoids)));  // [B, time_width]
  if (vector_in_) {
    CINNABAR_ASSERT(vector.defined());
    time = time + vector_out_->forward(at::silu(vector_in_->forward(vector.to(dtype))));
  }
  return time;
}

at::Tensor UNet::forward(const at::Tensor& x, const at::Tensor& t, const at::Tensor& context,
                         const at::Tensor& vector) const {
  const at::Tensor time = embed(t, vector, x.scalar_type());
  at::Tensor h = conv_in_.forward(x);
  std::vector<at::Tensor> skips{h};
  for (const Block& block : input_blocks_) {
    if (block.resnet) h = block.resnet->forward(h, time);
    if (block.transformer) h = block.transformer->forward(h, context);
    if (block.resample) h = block.resample->forward(h);
    skips.push_back(h);
  }
  h = middle_in_->forward(h, time);
  if (middle_transformer_) h = middle_transformer_->forward(h, context);
  h = middle_out_->forward(h, time);
  for (const Block& block : output_blocks_) {
    h = block.resnet->forward(at::cat({h, skips.back()}, 1), time);
    skips.pop_back();
    if (block.transformer) h = block.transformer->forward(h, context);
    if (block.resample) {
      // To the size of the skip that comes next, which is not twice this one where a side was odd.
      const at::Tensor& next = skips.back();
      h = block.resample->forward(at::upsample_nearest2d(h, {next.size(2), next.size(3)}));
    }
  }
  return conv_out_.forward(norm_out_.forward_silu(h));
}

}  // namespace cinnabar::nn
