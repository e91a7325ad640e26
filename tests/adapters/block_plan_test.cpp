#include "cinnabar/adapters/block_plan.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace {

using namespace cinnabar::adapters;

// sd-scripts' get_block_index for the same names.
struct Case {
  const char* name;
  std::optional<size_t> block;
};

AdapterOptions with(const BlockOptions& blocks) {
  return {.network_dim = 8, .network_alpha = {4.0, true}, .blocks = blocks};
}

std::vector<int64_t> ranks(const std::vector<LayerRank>& from) {
  std::vector<int64_t> result;
  for (const LayerRank& rank : from) result.push_back(rank.rank);
  return result;
}

}  // namespace

TEST_CASE("layers_of_sd_lie_in_the_blocks_that_the_reference_counts") {
  for (const Case& one :
       {Case{"lora_unet_down_blocks_0_attentions_0_proj_in", 1}, Case{"lora_unet_down_blocks_0_resnets_1_conv1", 2},
        Case{"lora_unet_down_blocks_0_downsamplers_0_conv", 3},
        Case{"lora_unet_down_blocks_3_resnets_1_time_emb_proj", 11},
        Case{"lora_unet_mid_block_attentions_0_transformer_blocks_0_attn1_to_q", 12},
        Case{"lora_unet_up_blocks_0_resnets_0_conv1", 13}, Case{"lora_unet_up_blocks_0_upsamplers_0_conv", 15},
        Case{"lora_unet_up_blocks_3_attentions_2_transformer_blocks_0_ff_net_2", 24},
        Case{"lora_unet_up_blocks_4_resnets_2_conv1", std::nullopt},
        Case{"lora_te_text_model_encoder_layers_0_mlp_fc1", std::nullopt}}) {
    CHECK_MESSAGE(block_of(one.name, BlockLayout::Sd) == one.block, one.name);
  }
}

TEST_CASE("layers_of_sdxl_lie_in_the_blocks_that_the_reference_counts") {
  for (const Case& one :
       {Case{"lora_unet_time_embed_0", 0}, Case{"lora_unet_label_emb_0_2", 0}, Case{"lora_unet_input_blocks_0_0", 1},
        Case{"lora_unet_input_blocks_8_1_transformer_blocks_0_attn1_to_q", 9},
        Case{"lora_unet_middle_block_0_in_layers_2", 10}, Case{"lora_unet_middle_block_2_out_layers_3", 12},
        Case{"lora_unet_output_blocks_0_1_proj_in", 13}, Case{"lora_unet_output_blocks_8_0_in_layers_2", 21},
        Case{"lora_unet_out_2", 22}, Case{"lora_te1_text_model_encoder_layers_0_mlp_fc1", std::nullopt}}) {
    CHECK_MESSAGE(block_of(one.name, BlockLayout::Sdxl) == one.block, one.name);
  }
  CHECK(block_layout({"lora_te1_x", "lora_unet_input_blocks_4_1_proj_in"}) == BlockLayout::Sdxl);
  CHECK(block_layout({"lora_te_x", "lora_unet_down_blocks_0_attentions_0_proj_in"}) == BlockLayout::Sd);
  CHECK_FALSE(block_layout({"lora_unet_double_blocks_0_img_attn_qkv"}));
}

TEST_CASE("weights_join_down_middle_and_up_and_cut_blocks_off") {
  BlockOptions blocks;
  blocks.down = BlockWeights{.curve = "linear"};
  blocks.up = BlockWeights{.values = {0.5, 0.05}};
  blocks.zero_threshold = 0.1;
  const BlockPlan plan = plan_blocks(with(blocks), BlockLayout::Sd);
  REQUIRE(plan.weights.size() == 25);
  CHECK(plan.weights[0] == 0.0);
  CHECK(plan.weights[1] == 0.0);  // 1/11 is below the threshold
  CHECK(plan.weights[11] == 1.0);
  CHECK(plan.weights[12] == 1.0);
  CHECK(plan.weights[13] == 0.5);
  CHECK(plan.weights[14] == 0.0);
  CHECK(plan.weights[15] == 1.0);
  CHECK(plan.notes.size() == 1);
  const std::vector<int64_t> found = ranks(plan.ranks);
  CHECK(found[1] == 0);
  CHECK(found[11] == 8);
  CHECK(found[14] == 0);
  CHECK(plan.ranks[11].alpha == Alpha{4.0, true});
  CHECK(plan.conv_ranks.empty());
  const BlockPlan wide = plan_blocks(with({.mid = BlockWeights{.values = {1, 2, 3}}}), BlockLayout::Sdxl);
  CHECK(wide.weights.size() == 23);
  CHECK(wide.weights[0] == 1.0);
  CHECK(wide.weights[11] == 2.0);
  CHECK(wide.weights[22] == 1.0);
}

TEST_CASE("ranks_and_alphas_by_block_win_over_the_general_ones") {
  BlockOptions blocks{.dims = std::vector<int64_t>(23, 2), .alphas = std::vector<double>(23, 1.5)};
  blocks.dims[5] = 0;
  AdapterOptions options = with(blocks);
  options.conv_dim = 3;
  options.conv_alpha = {2.0, false};
  const BlockPlan plan = plan_blocks(options, BlockLayout::Sdxl);
  CHECK(plan.ranks[4] == LayerRank{2, {1.5, false}});
  CHECK(plan.ranks[5].rank == 0);
  CHECK(plan.conv_ranks[5] == LayerRank{3, {2.0, false}});
  options.blocks.conv_dims = std::vector<int64_t>(23, 7);
  CHECK(plan_blocks(options, BlockLayout::Sdxl).conv_ranks[4] == LayerRank{7, {2.0, false}});
  options.blocks.conv_alphas = std::vector<double>(23, 5.0);
  CHECK(plan_blocks(options, BlockLayout::Sdxl).conv_ranks[4] == LayerRank{7, {5.0, false}});
}

TEST_CASE("lists_of_another_length_are_refused_with_both_lengths") {
  CHECK_THROWS_WITH_AS(plan_blocks(with({.dims = std::vector<int64_t>(25, 2)}), BlockLayout::Sdxl),
                       doctest::Contains("block_dims has 25 values, this model's U-Net has 23 blocks"),
                       cinnabar::base::Error);
}
