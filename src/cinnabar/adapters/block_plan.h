// The blocks of a U-Net as kohya counts them, and what each of them has (no torch).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/adapters/adapter_options.h"

namespace cinnabar::adapters {

// SD1 and SD2: 12 down, 1 middle, 12 up. SDXL: embeddings, 9 input, 3 middle, 9 output, output layer.
enum class BlockLayout { Sd, Sdxl };

// 25 or 23.
size_t block_count(BlockLayout layout);
// By the names of the U-Net's layers: "lora_unet_down_blocks_..." or "lora_unet_input_blocks_...". Nothing for other
// families.
std::optional<BlockLayout> block_layout(const std::vector<std::string>& layer_names);
// Where the layer stands in lists of one value a block. Nothing for layers of no block and for numbers behind the last
// one (U-Nets deeper than the published ones).
std::optional<size_t> block_of(std::string_view layer_name, BlockLayout layout);

struct BlockPlan {
  BlockLayout layout = BlockLayout::Sd;
  std::vector<double> weights{};        // of the learning rate; empty: 1 everywhere, and no groups of their own
  std::vector<LayerRank> ranks{};       // of linear layers and 1x1 convolutions; rank 0: no adapter
  std::vector<LayerRank> conv_ranks{};  // of larger convolutions; empty: none
  std::vector<std::string> notes{};     // what was cut or filled in, in words for the user
};

// Needs options.blocks.is_on(). Throws Error{Config} for lists of another length than the layout has blocks.
BlockPlan plan_blocks(const AdapterOptions& options, BlockLayout layout);

}  // namespace cinnabar::adapters
