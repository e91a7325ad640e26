#include "cinnabar/nn/spatial_transformer.h"

#include <string>

#include "cinnabar/nn/checkpointing.h"

namespace cinnabar::nn {

namespace {

at::Tensor to_map(const at::Tensor& rows, const at::Tensor& like) {  // [B, H*W, C] -> [B, C, H, W]
  return rows.transpose(1, 2).reshape({rows.size(0), rows.size(2), like.size(2), like.size(3)});
}

std::unique_ptr<Layer> make_projection(int64_t channels, bool is_linear) {
  if (is_linear) return std::make_unique<Linear>(channels, channels);
  return std::make_unique<Conv2d>(ConvOptions{.in = channels, .out = channels, .kernel = 1, .padding = 0});
}

}  // namespace

TransformerBlock::TransformerBlock(int64_t width, int64_t context_width, int64_t heads)
    : attn1_(width, width, heads),
      gate_(width, 4 * width),
      feed_out_(4 * width, width),
      attn2_(width, context_width, heads),
      norm1_(width),
      norm2_(width),
      norm3_(width) {
  add("attn1", attn1_);
  add("ff.net.0", gate_);
  add("ff.net.2", feed_out_);
  add("attn2", attn2_);
  add("norm1", norm1_);
  add("norm2", norm2_);
  add("norm3", norm3_);
}

at::Tensor TransformerBlock::forward(const at::Tensor& x, const at::Tensor& context) const {
  return run_segment(is_training() && checkpointing(),
                     [this](const std::vector<at::Tensor>& inputs) { return inner_forward(inputs[0], inputs[1]); },
                     {x, context});
}

at::Tensor TransformerBlock::inner_forward(const at::Tensor& x, const at::Tensor& context) const {
  const at::Tensor own = norm1_.forward(x);
  at::Tensor h = attn1_.forward(own, own, x);
  h = attn2_.forward(norm2_.forward(h), context, h);
  const at::Tensor last = gate_.forward(norm3_.forward(h));
  return feed_out_.forward(last, {.add = h, .is_last = true});
}

SpatialTransformer::SpatialTransformer(const SpatialTransformerOptions& options)
    : has_linear_projection_(options.has_linear_projection),
      norm_(options.groups, options.channels, 1e-6),
      proj_in_(make_projection(options.channels, options.has_linear_projection)),
      proj_out_(make_projection(options.channels, options.has_linear_projection)) {
  add("norm", norm_);
  add("proj_in", *proj_in_);
  for (int64_t i = 0; i < options.depth; ++i) {
    blocks_.push_back(std::make_unique<TransformerBlock>(options.channels, options.context_width, options.heads));
    add("transformer_blocks." + std::to_string(i), *blocks_.back());
  }
  add("proj_out", *proj_out_);
}

at::Tensor SpatialTransformer::forward(const at::Tensor& x, const at::Tensor& context) const {
  at::Tensor h = norm_.forward(x);
  h = has_linear_projection_ ? proj_in_->forward(to_rows(h)) : to_rows(proj_in_->forward(h));  // [B, H*W, C]
  for (const auto& block : blocks_) h = block->forward(h, context);
  if (has_linear_projection_) return to_map(proj_out_->forward(h, {.add = to_rows(x)}), x);
  return proj_out_->forward(to_map(h, x), {.add = x});
}

}  // namespace cinnabar::nn
