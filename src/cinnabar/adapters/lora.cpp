// LoRA: y + multiplier * alpha / r * up(down(x)) (Hu et al. 2021), for linear and convolution layers with kohya's file
// keys.
#include "cinnabar/adapters/block_options.h"
#include "cinnabar/adapters/registry.h"

namespace cinnabar::adapters {

namespace {

AdapterDescription description() {
  AdapterDescription lora{
      .help = "LoRA: a low-rank update of linear and, with conv_dim, of convolution layers. Read by every program.",
      .options = {
          {.name = "conv_dim",
           .type = schema::Type::Int,
           .range = schema::Range{1, 1024},
           .typical = schema::Range{4, 16},
           .group = "Method",
           .level = schema::Level::Advanced,
           .label = "Convolution rank",
           .help = "Rank for convolutions. When given, the residual, down- and upsampling blocks are trained, too."},
          {.name = "conv_alpha",
           .type = schema::Type::Float,
           .fallback = 1.0,
           .range = schema::Range{0, 1024},
           .group = "Method",
           .level = schema::Level::Advanced,
           .shown_if = "conv_dim",
           .label = "Convolution alpha",
           .help = "The update of convolutions is scaled by conv_alpha / conv_dim. 0 means the rank."},
          {.name = "network_dropout",
           .aliases = {"dropout"},
           .type = schema::Type::Float,
           .range = schema::Range{0, 0.99},
           .typical = schema::Range{0.1, 0.3},
           .group = "Method",
           .level = schema::Level::Expert,
           .label = "Dropout",
           .help = "The option of the same name, over which this one wins."},
          {.name = "rank_dropout",
           .type = schema::Type::Float,
           .range = schema::Range{0, 0.99},
           .typical = schema::Range{0.1, 0.3},
           .group = "Method",
           .level = schema::Level::Expert,
           .label = "Rank dropout",
           .help = "Probability with which a rank is left out of a sample's update."},
          {.name = "module_dropout",
           .type = schema::Type::Float,
           .range = schema::Range{0, 0.99},
           .typical = schema::Range{0.1, 0.3},
           .group = "Method",
           .level = schema::Level::Expert,
           .label = "Module dropout",
           .help = "Probability with which a layer's update is left out of a step."},
      }};
  for (const schema::Option& row : lora_plus_options()) lora.options.push_back(row);
  for (const schema::Option& row : block_option_rows()) lora.options.push_back(row);
  return lora;
}

CINNABAR_REGISTER_ADAPTER(lora, {"networks.lora", "lora"}, description());

}  // namespace

}  // namespace cinnabar::adapters

#ifdef CINNABAR_ENGINE
#include <cmath>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/adapters/dropout.h"
#include "cinnabar/adapters/layer_adapter.h"
#include "cinnabar/adapters/low_rank.h"
#include "cinnabar/base/random_stream.h"
#include "cinnabar/tensor/fill.h"

namespace cinnabar::adapters {

namespace {

constexpr const char* kDown = "lora_down.weight";
constexpr const char* kUp = "lora_up.weight";
constexpr const char* kAlpha = "alpha";

at::Tensor alpha_scalar(const Alpha& alpha) {
  return alpha.is_whole ? at::scalar_tensor(static_cast<int64_t>(alpha.value), at::kLong)
                        : at::scalar_tensor(alpha.value, at::kFloat);
}

class LoRA : public LayerAdapter {
 public:
  LoRA(const LayerRequest& request, const LayerRank& rank)
      : name_(request.name),
        shape_(request.layer.shape()),
        context_(request.context),
        rates_{request.options.network_dropout, request.options.rank_dropout, request.options.module_dropout} {
    // Alpha 0 means the rank.
    const Alpha alpha = rank.alpha.value != 0.0 ? rank.alpha : Alpha{static_cast<double>(rank.rank), true};
    alpha_ = alpha_scalar(alpha);
    scale_ = alpha.value / static_cast<double>(rank.rank);
    const auto options = at::TensorOptions().dtype(at::kFloat).device(request.layer.weight.device());
    if (shape_.is_convolution) {
      down_ = at::zeros({rank.rank, shape_.in, shape_.kernel, shape_.kernel}, options);
      up_ = at::zeros({shape_.out, rank.rank, 1, 1}, options);
    } else {
      down_ = at::zeros({rank.rank, shape_.in}, options);
      up_ = at::zeros({shape_.out, rank.rank}, options);
    }
    down_.requires_grad_(true);
    up_.requires_grad_(true);
  }

  // Kaiming uniform with a = sqrt(5), that is within 1 / sqrt(fan in), for down; up stays zero.
  void initialise(uint64_t seed) {
    at::Tensor values = at::empty(down_.sizes(), at::TensorOptions().dtype(at::kFloat));
    const float bound =
        static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape_.in * shape_.kernel * shape_.kernel)));
    base::RandomStream(seed, base::Purpose::AdapterInit, tensor::name_key(name_))
        .fill_uniform({values.mutable_data_ptr<float>(), static_cast<size_t>(values.numel())}, -bound, bound);
    const at::NoGradGuard no_grad;
    down_.copy_(values);
  }

  at::Tensor apply(const nn::Layer& /*layer*/, const at::Tensor& x, const at::Tensor& y) override {
    if (multiplier == 0.0 || is_module_dropped(*context_, name_, rates_)) return y;
    LowRankUpdate update{.down = down_, .up = up_, .scale = multiplier * scale_};
    if (shape_.is_convolution) {
      StateShape state{y.sizes().vec(), 1};
      state.sizes[1] = down_.size(0);
      update.mask = dropout_mask(*context_, name_, rates_, state, x);
      return add_low_rank_conv(x, y, update, shape_.stride, shape_.padding);
    }
    StateShape state{y.sizes().vec(), y.dim() - 1};
    state.sizes.back() = down_.size(0);
    update.mask = dropout_mask(*context_, name_, rates_, state, x);
    return add_low_rank_linear(x, y, update);
  }

  bool is_factored(const at::Tensor& x, std::optional<nn::LowRank>& update) const override {
    if (down_.scalar_type() != at::kFloat || !down_.is_contiguous() || !up_.is_contiguous()) return false;
    if (multiplier == 0.0 || is_module_dropped(*context_, name_, rates_)) return true;
    update = nn::LowRank{.down = down_, .up = up_, .scale = multiplier * scale_};
    const int64_t axis = shape_.is_convolution ? 1 : x.dim() - 1;
    StateShape state{x.sizes().vec(), axis};
    state.sizes[static_cast<size_t>(axis)] = down_.size(0);
    update->mask = dropout_mask(*context_, name_, rates_, state, x);
    return true;
  }

  at::Tensor delta_weight(const nn::Layer& layer) const override {
    const at::NoGradGuard no_grad;
    const at::Tensor product = up_.flatten(1).to(at::kFloat).mm(down_.flatten(1).to(at::kFloat));  // [out, in * k * k]
    return (product * scale_).reshape(layer.weight.sizes());
  }

  std::vector<std::pair<std::string, at::Tensor*>> trainable() override { return {{kDown, &down_}, {kUp, &up_}}; }

  std::vector<std::pair<std::string, at::Tensor>> file_tensors() const override {
    return {{kAlpha, alpha_}, {kDown, down_.detach()}, {kUp, up_.detach()}};
  }

  // The norm of up down from the r x r products of each with itself, in double, since its parts may cancel:
  // |up down|^2 = sum((up^T up) * (down down^T)).
  std::optional<NormLimit> limit_norm(double most) override {
    const at::NoGradGuard no_grad;
    const at::Tensor up = up_.flatten(1).to(at::kDouble);      // [out, r]
    const at::Tensor down = down_.flatten(1).to(at::kDouble);  // [r, in * k * k]
    const at::Tensor squared = (up.t().mm(up) * down.mm(down.t())).sum().clamp_min(0.0);
    const at::Tensor norm = squared.sqrt() * std::abs(scale_);
    const at::Tensor bounded = norm.clamp_min(most / 2.0);
    const at::Tensor ratio = bounded.clamp_max(most) / bounded;
    const at::Tensor root = ratio.sqrt();
    down_.mul_(root.to(down_.scalar_type()));
    up_.mul_(root.to(up_.scalar_type()));
    return NormLimit{norm * ratio, ratio};
  }

  void load(const AdapterTensors& tensors) override {
    const at::NoGradGuard no_grad;
    copy(tensors, kDown, down_);
    copy(tensors, kUp, up_);
    const auto alpha = tensors.find(kAlpha);
    if (alpha != tensors.end() && alpha->second.numel() != 1) {
      throw base::Error(base::ErrorCode::Format, "adapter tensor " + name_ + "." + kAlpha + " has shape " +
                                                     c10::str(alpha->second.sizes()) +
                                                     " in the file, expected a single number");
    }
    alpha_ = alpha != tensors.end() ? alpha->second.detach().cpu().reshape({})
                                    : alpha_scalar({static_cast<double>(down_.size(0)), true});
    scale_ = alpha_.to(at::kDouble).item<double>() / static_cast<double>(down_.size(0));
  }

 private:
  // 1x1 convolutions and linear layers store the same numbers: files may hold either form.
  void copy(const AdapterTensors& tensors, const char* suffix, at::Tensor& target) const {
    const auto found = tensors.find(suffix);
    if (found == tensors.end()) {
      throw base::Error(base::ErrorCode::Format, "adapter tensor " + name_ + "." + suffix + " is missing in the file");
    }
    const at::Tensor& source = found->second;
    const bool has_rank = source.dim() >= 2 && source.size(0) == target.size(0) && source.size(1) == target.size(1);
    const bool is_same = source.sizes() == target.sizes() || (has_rank && source.numel() == target.numel());
    if (!is_same) {
      // The rank stands first in down and second in up; all else is the layer's.
      const int64_t rank = suffix == std::string_view(kDown) ? 0 : 1;
      const bool is_other_rank = source.dim() == target.dim() && source.size(rank) != target.size(rank) &&
                                 source.size(1 - rank) == target.size(1 - rank);
      throw base::Error(base::ErrorCode::Format,
                        "adapter tensor " + name_ + "." + suffix + " has shape " + c10::str(source.sizes()) +
                            " in the file, the layer expects " + c10::str(target.sizes()) +
                            (is_other_rank ? ": the file was made with another rank; give that as network_dim, or "
                                             "dim_from_weights, which takes the file's"
                                           : ": the file was made for another model"));
    }
    target.copy_(source.reshape(target.sizes()));
  }

  std::string name_;
  nn::LayerShape shape_;
  std::shared_ptr<const StepContext> context_;
  DropoutRates rates_;
  at::Tensor alpha_;
  double scale_ = 1.0;
  at::Tensor down_;
  at::Tensor up_;
};

std::shared_ptr<LayerAdapter> create(const LayerRequest& request) {
  const std::optional<LayerRank> rank = rank_of(request);
  if (!rank) return nullptr;
  auto adapter = std::make_shared<LoRA>(request, *rank);
  adapter->initialise(request.options.seed);
  return adapter;
}

// Only if nothing else is there: LoRAs with further tensors (DoRA, Tucker) are other kinds.
bool recognises(const AdapterTensors& tensors) {
  return tensors.contains(kDown) && tensors.contains(kUp) && tensors.size() == (tensors.contains(kAlpha) ? 3U : 2U);
}

std::shared_ptr<LayerAdapter> restore(const LayerRequest& request, const AdapterTensors& tensors) {
  const at::Tensor& down = tensors.at(kDown);
  if (down.dim() < 2 || down.size(0) == 0) {
    throw base::Error(base::ErrorCode::Format, "adapter tensor " + request.name + "." + kDown + " has shape " +
                                                   c10::str(down.sizes()) +
                                                   " in the file, expected a rank above 0 first");
  }
  auto adapter = std::make_shared<LoRA>(request, LayerRank{.rank = down.size(0)});
  adapter->load(tensors);
  return adapter;
}

CINNABAR_REGISTER_ADAPTER_FACTORY(lora, {"networks.lora", "lora"},
                                  {.kind = "lora", .create = create, .recognises = recognises, .restore = restore});

}  // namespace

}  // namespace cinnabar::adapters
#endif
