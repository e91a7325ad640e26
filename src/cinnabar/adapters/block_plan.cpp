#include "cinnabar/adapters/block_plan.h"

#include <algorithm>
#include <cctype>

#include "cinnabar/base/error.h"

namespace cinnabar::adapters {

namespace {

struct Counts {
  size_t ends;  // blocks before the first and behind the last one that a weight can be given for
  size_t down;  // and up
  size_t mid;
};

Counts counts_of(BlockLayout layout) { return layout == BlockLayout::Sd ? Counts{0, 12, 1} : Counts{1, 9, 3}; }

// Takes `text` off the front.
bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

// Takes a number and the "_" behind it off the front.
std::optional<size_t> take_number(std::string_view& rest) {
  size_t value = 0;
  size_t digits = 0;
  while (digits < rest.size() && digits < 6 && std::isdigit(static_cast<unsigned char>(rest[digits])) != 0) {
    value = value * 10 + static_cast<size_t>(rest[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  rest.remove_prefix(digits);
  if (!rest.empty() && rest.front() != '_') return std::nullopt;
  if (!rest.empty()) rest.remove_prefix(1);
  return value;
}

// "down_blocks_1_attentions_0_proj_in" and the like.
std::optional<size_t> block_of_diffusers(std::string_view rest) {
  if (rest.starts_with("mid_block_")) return 12;
  const bool is_down = take(rest, "down_blocks_");
  if (!is_down && !take(rest, "up_blocks_")) return std::nullopt;
  const std::optional<size_t> level = take_number(rest);
  if (!level) return std::nullopt;
  const size_t first = (is_down ? 1 : 13) + 3 * *level;
  // Samplers count as the third of their level.
  if (take(rest, "downsamplers_") || take(rest, "upsamplers_")) return first + 2;
  if (!take(rest, "resnets_") && !take(rest, "attentions_")) return std::nullopt;
  const std::optional<size_t> number = take_number(rest);
  return number ? std::optional(first + *number) : std::nullopt;
}

// "input_blocks_4_1_transformer_blocks_0_attn1_to_q" and the like.
std::optional<size_t> block_of_single_file(std::string_view rest) {
  if (rest.starts_with("time_embed_") || rest.starts_with("label_emb_")) return 0;
  if (rest.starts_with("out_")) return 22;
  for (const auto& [beginning, first] :
       {std::pair{"input_blocks_", 1U}, std::pair{"middle_block_", 10U}, std::pair{"output_blocks_", 13U}}) {
    if (!take(rest, beginning)) continue;
    const std::optional<size_t> number = take_number(rest);
    return number ? std::optional(first + *number) : std::nullopt;
  }
  return std::nullopt;
}

void check_length(const std::string& name, size_t found, size_t expected) {
  if (found == 0 || found == expected) return;
  throw base::Error(base::ErrorCode::Config, "network_args: " + name + " has " + std::to_string(found) +
                                                 " values, this model's U-Net has " + std::to_string(expected) +
                                                 " blocks: give one value a block");
}

class Planner {
 public:
  Planner(const AdapterOptions& options, BlockLayout layout)
      : options_(options), blocks_(options.blocks), counts_(counts_of(layout)) {
    plan_.layout = layout;
  }

  BlockPlan run() {
    const size_t count = block_count(plan_.layout);
    check_length("block_dims", blocks_.dims.size(), count);
    check_length("block_alphas", blocks_.alphas.size(), count);
    check_length("conv_block_dims", blocks_.conv_dims.size(), count);
    check_length("conv_block_alphas", blocks_.conv_alphas.size(), count);
    if (blocks_.has_weights()) add_weights();
    for (size_t i = 0; i < count; ++i) add_ranks(i);
    return std::move(plan_);
  }

 private:
  void add_weights() {
    std::vector<double>& weights = plan_.weights;
    weights.assign(counts_.ends, 1.0);
    add_part("down_lr_weight", blocks_.down, counts_.down);
    add_part("mid_lr_weight", blocks_.mid, counts_.mid);
    add_part("up_lr_weight", blocks_.up, counts_.down);
    weights.insert(weights.end(), counts_.ends, 1.0);
  }

  void add_part(const std::string& name, const std::optional<BlockWeights>& given, size_t count) {
    std::vector<double> weights(count, 1.0);
    if (given) {
      weights = given->over(count);
      for (double& weight : weights) weight = weight > blocks_.zero_threshold ? weight : 0.0;
      const size_t found = given->values.size();
      if (given->curve.empty() && found != count) {
        plan_.notes.push_back(name + " has " + std::to_string(found) + " values for " + std::to_string(count) +
                              " blocks: " + (found > count ? "the rest is left out." : "the missing ones are 1."));
      }
    }
    plan_.weights.insert(plan_.weights.end(), weights.begin(), weights.end());
  }

  void add_ranks(size_t block) {
    const bool is_off = !plan_.weights.empty() && plan_.weights[block] == 0.0;
    LayerRank rank{options_.network_dim, options_.network_alpha};
    if (!blocks_.dims.empty()) rank.rank = blocks_.dims[block];
    if (!blocks_.alphas.empty()) rank.alpha = {blocks_.alphas[block], false};
    if (is_off) rank.rank = 0;
    plan_.ranks.push_back(rank);
    if (blocks_.conv_dims.empty() && !options_.conv_dim) return;
    LayerRank conv{options_.conv_dim.value_or(0), options_.conv_alpha};
    if (!blocks_.conv_dims.empty()) {
      conv.rank = blocks_.conv_dims[block];
      if (!blocks_.conv_alphas.empty()) conv.alpha = {blocks_.conv_alphas[block], false};
    }
    if (is_off) conv.rank = 0;
    plan_.conv_ranks.push_back(conv);
  }

  const AdapterOptions& options_;
  const BlockOptions& blocks_;
  Counts counts_;
  BlockPlan plan_;
};

}  // namespace

size_t block_count(BlockLayout layout) {
  const Counts counts = counts_of(layout);
  return 2 * counts.ends + 2 * counts.down + counts.mid;
}

std::optional<BlockLayout> block_layout(const std::vector<std::string>& layer_names) {
  for (const std::string& name : layer_names) {
    std::string_view rest = name;
    if (!take(rest, "lora_unet_")) continue;
    if (block_of_diffusers(rest)) return BlockLayout::Sd;
    if (block_of_single_file(rest)) return BlockLayout::Sdxl;
  }
  return std::nullopt;
}

std::optional<size_t> block_of(std::string_view layer_name, BlockLayout layout) {
  if (!take(layer_name, "lora_unet_")) return std::nullopt;
  const std::optional<size_t> block =
      layout == BlockLayout::Sd ? block_of_diffusers(layer_name) : block_of_single_file(layer_name);
  return block && *block < block_count(layout) ? block : std::nullopt;
}

BlockPlan plan_blocks(const AdapterOptions& options, BlockLayout layout) { return Planner(options, layout).run(); }

}  // namespace cinnabar::adapters
