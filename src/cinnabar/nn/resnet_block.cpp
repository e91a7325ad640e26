#include "cinnabar/nn/resnet_block.h"

#include <ATen/ops/silu.h>

#include "cinnabar/nn/checkpointing.h"

namespace cinnabar::nn {

ResnetBlock::ResnetBlock(const ResnetBlockOptions& options)
    : norm_in_(options.groups, options.in, 1e-5),
      conv_in_({.in = options.in, .out = options.out}),
      time_projection_(options.time_width, options.out),
      norm_out_(options.groups, options.out, 1e-5),
      conv_out_({.in = options.out, .out = options.out}) {
  add("in_layers.0", norm_in_);
  add("in_layers.2", conv_in_);
  add("emb_layers.1", time_projection_);
  add("out_layers.0", norm_out_);
  add("out_layers.3", conv_out_);
  if (options.in != options.out) {
    skip_ = std::make_unique<Conv2d>(ConvOptions{.in = options.in, .out = options.out, .kernel = 1, .padding = 0});
    add("skip_connection", *skip_);
  }
}

at::Tensor ResnetBlock::forward(const at::Tensor& x, const at::Tensor& time) const {
  return run_segment(is_training() && checkpointing(),
                     [this](const std::vector<at::Tensor>& inputs) { return inner_forward(inputs[0], inputs[1]); },
                     {x, time});
}

at::Tensor ResnetBlock::inner_forward(const at::Tensor& x, const at::Tensor& time) const {
  const at::Tensor shift = time_projection_.forward(at::silu(time));                     // [B, out]
  const at::Tensor h = conv_in_.forward(norm_in_.forward_silu(x), {.row_bias = shift});  // [B, out, H, W]
  const at::Tensor last = norm_out_.forward_silu(h);
  const at::Tensor other = skip_ ? skip_->forward(x, {.is_last = true}) : x;
  return conv_out_.forward(last, {.add = other, .is_last = true});
}

}  // namespace cinnabar::nn
