// The U-Net of latent diffusion models (SD 1, SD 2, SDXL) under its single-file names (input_blocks.N.M, ...).
#pragma once

#include <memory>
#include <vector>

#include "cinnabar/nn/layer.h"
#include "cinnabar/nn/norm.h"
#include "cinnabar/nn/resnet_block.h"
#include "cinnabar/nn/spatial_transformer.h"

namespace cinnabar::nn {

struct UNetLevel {
  int64_t width = 0;       // channels
  int64_t res_blocks = 2;  // on the way down; one more on the way up
  int64_t depth = 0;       // transformer blocks a res block; 0: no attention in this level
  int64_t heads = 8;
};

struct UNetConfig {
  int64_t in_channels = 4;
  int64_t out_channels = 4;
  int64_t model_channels = 320;  // width of the first convolution and of the timestep's sinusoids
  int64_t time_width = 1280;
  std::vector<UNetLevel> levels{};
  int64_t middle_depth = 1;
  int64_t middle_heads = 8;
  int64_t context_width = 768;
  int64_t vector_width = 0;  // of the added vector (SDXL's size and pooled text), 0: none
  int64_t groups = 32;
  bool has_linear_projection = false;
};

class UNet : public Module {
 public:
  explicit UNet(UNetConfig config);
  // B batch, h w latent height and width (any size), K text tokens. Computes in the type of x.
  at::Tensor forward(const at::Tensor& x,                   // [B, in_channels, h, w]
                     const at::Tensor& t,                   // [B], in [0, 1000)
                     const at::Tensor& context,             // [B, K, context_width]
                     const at::Tensor& vector = {}) const;  // [B, vector_width] -> [B, out_channels, h, w]
  const UNetConfig& config() const { return config_; }

 private:
  // One entry of input_blocks or output_blocks: parts that are absent are null.
  struct Block {
    std::unique_ptr<ResnetBlock> resnet;
    std::unique_ptr<SpatialTransformer> transformer;
    std::unique_ptr<Conv2d> resample;  // downsampling alone, or upsampling after the others
  };

  void add_input_blocks();
  void add_middle();
  void add_output_blocks();
  std::unique_ptr<ResnetBlock> make_resnet(int64_t in, int64_t out) const;
  std::unique_ptr<SpatialTransformer> make_transformer(int64_t channels, int64_t depth, int64_t heads) const;
  at::Tensor embed(const at::Tensor& t, const at::Tensor& vector, at::ScalarType dtype) const;

  UNetConfig config_;
  Linear time_in_;
  Linear time_out_;
  std::unique_ptr<Linear> vector_in_;
  std::unique_ptr<Linear> vector_out_;
  Conv2d conv_in_;
  std::vector<Block> input_blocks_;  // from input_blocks.1 on
  std::vector<int64_t> skip_widths_;
  std::unique_ptr<ResnetBlock> middle_in_;
  std::unique_ptr<SpatialTransformer> middle_transformer_;
  std::unique_ptr<ResnetBlock> middle_out_;
  std::vector<Block> output_blocks_;
  GroupNorm norm_out_;
  Conv2d conv_out_;
};

}  // namespace cinnabar::nn
