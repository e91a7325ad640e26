#include "cinnabar/models/sd/block_names.h"

#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace cinnabar::models::sd {

namespace {

using ChildName = std::pair<std::string_view, std::string_view>;  // single file, diffusers

constexpr std::array<ChildName, 6> kUNetResnet{{{"in_layers.0", "norm1"},
                                                {"in_layers.2", "conv1"},
                                                {"emb_layers.1", "time_emb_proj"},
                                                {"out_layers.0", "norm2"},
                                                {"out_layers.3", "conv2"},
                                                {"skip_connection", "conv_shortcut"}}};
constexpr std::array<ChildName, 1> kVaeResnet{{{"nin_shortcut", "conv_shortcut"}}};
// The second spelling is that of older diffusers versions, read only.
constexpr std::array<ChildName, 9> kVaeAttention{{{"norm", "group_norm"},
                                                  {"q", "to_q"},
                                                  {"k", "to_k"},
                                                  {"v", "to_v"},
                                                  {"proj_out", "to_out.0"},
                                                  {"q", "query"},
                                                  {"k", "key"},
                                                  {"v", "value"},
                                                  {"proj_out", "proj_attn"}}};

std::span<const ChildName> children_of(BlockKind kind) {
  switch (kind) {
    case BlockKind::UNetResnet:
      return kUNetResnet;
    case BlockKind::VaeResnet:
      return kVaeResnet;
    case BlockKind::VaeAttention:
      return kVaeAttention;
    default:
      return {};
  }
}

// Whether `name` is `path` or lies below it.
bool is_within(std::string_view name, std::string_view path) {
  return name.starts_with(path) && (name.size() == path.size() || name[path.size()] == '.');
}

std::string rename_child(std::string_view rest, BlockKind kind, bool is_to_diffusers) {
  if (rest.empty()) return {};
  const std::string_view child = rest.substr(1);  // behind the dot
  for (const auto& [single_file, diffusers] : children_of(kind)) {
    const std::string_view from = is_to_diffusers ? single_file : diffusers;
    const std::string_view to = is_to_diffusers ? diffusers : single_file;
    if (is_within(child, from)) return "." + std::string(to) + std::string(child.substr(from.size()));
  }
  return std::string(rest);
}

std::string dotted(std::string_view head, int64_t a, std::string_view middle, int64_t b) {
  return std::string(head) + std::to_string(a) + std::string(middle) + std::to_string(b);
}

}  // namespace

void BlockNames::add(std::string single_file, std::string diffusers, BlockKind kind) {
  blocks_.push_back({std::move(single_file), std::move(diffusers), kind});
}

BlockNames BlockNames::of_unet(const UNetLayout& layout) {
  BlockNames names;
  names.add("time_embed.0", "time_embedding.linear_1");
  names.add("time_embed.2", "time_embedding.linear_2");
  names.add("label_emb.0.0", "add_embedding.linear_1");
  names.add("label_emb.0.2", "add_embedding.linear_2");
  names.add("input_blocks.0.0", "conv_in");
  const auto levels = static_cast<int64_t>(layout.res_blocks.size());
  int64_t number = 1;
  for (int64_t i = 0; i < levels; ++i) {
    for (int64_t j = 0; j < layout.res_blocks[static_cast<size_t>(i)]; ++j, ++number) {
      const std::string block = "input_blocks." + std::to_string(number);
      names.add(block + ".0", dotted("down_blocks.", i, ".resnets.", j), BlockKind::UNetResnet);
      if (layout.has_attention[static_cast<size_t>(i)]) {
        names.add(block + ".1", dotted("down_blocks.", i, ".attentions.", j), BlockKind::UNetTransformer);
      }
    }
    if (i + 1 < levels) {
      names.add("input_blocks." + std::to_string(number++) + ".0.op",
                "down_blocks." + std::to_string(i) + ".downsamplers.0.conv", BlockKind::Resample);
    }
  }
  names.add("middle_block.0", "mid_block.resnets.0", BlockKind::UNetResnet);
  names.add("middle_block.1", "mid_block.attentions.0", BlockKind::UNetTransformer);
  names.add("middle_block.2", "mid_block.resnets.1", BlockKind::UNetResnet);
  number = 0;
  for (int64_t i = 0; i < levels; ++i) {
    const auto level = static_cast<size_t>(levels - 1 - i);
    const bool has_attention = layout.has_attention[level];
    for (int64_t j = 0; j <= layout.res_blocks[level]; ++j, ++number) {
      const std::string block = "output_blocks." + std::to_string(number);
      names.add(block + ".0", dotted("up_blocks.", i, ".resnets.", j), BlockKind::UNetResnet);
      const bool has_upsampler = i + 1 < levels && j == layout.res_blocks[level];
      if (has_upsampler) {
        names.add(block + (has_attention ? ".2.conv" : ".1.conv"),
                  "up_blocks." + std::to_string(i) + ".upsamplers.0.conv", BlockKind::Resample);
      }
      if (has_attention) {
        names.add(block + ".1", dotted("up_blocks.", i, ".attentions.", j), BlockKind::UNetTransformer);
      }
    }
  }
  names.add("out.0", "conv_norm_out");
  names.add("out.2", "conv_out");
  return names;
}

BlockNames BlockNames::of_vae(int64_t levels, int64_t blocks) {
  BlockNames names;
  for (const char* side : {"encoder", "decoder"}) {
    const std::string part = side;
    names.add(part + ".conv_in", part + ".conv_in");
    names.add(part + ".norm_out", part + ".conv_norm_out");
    names.add(part + ".conv_out", part + ".conv_out");
    names.add(part + ".mid.block_1", part + ".mid_block.resnets.0", BlockKind::VaeResnet);
    names.add(part + ".mid.attn_1", part + ".mid_block.attentions.0", BlockKind::VaeAttention);
    names.add(part + ".mid.block_2", part + ".mid_block.resnets.1", BlockKind::VaeResnet);
  }
  for (int64_t i = 0; i < levels; ++i) {
    for (int64_t j = 0; j < blocks; ++j) {
      names.add(dotted("encoder.down.", i, ".block.", j), dotted("encoder.down_blocks.", i, ".resnets.", j),
                BlockKind::VaeResnet);
      names.add(dotted("decoder.up.", levels - 1 - i, ".block.", j), dotted("decoder.up_blocks.", i, ".resnets.", j),
                BlockKind::VaeResnet);
    }
    names.add("encoder.down." + std::to_string(i) + ".downsample.conv",
              "encoder.down_blocks." + std::to_string(i) + ".downsamplers.0.conv");
    names.add("decoder.up." + std::to_string(levels - 1 - i) + ".upsample.conv",
              "decoder.up_blocks." + std::to_string(i) + ".upsamplers.0.conv");
  }
  names.add("quant_conv", "quant_conv");
  names.add("post_quant_conv", "post_quant_conv");
  return names;
}

const BlockName* BlockNames::block_of(const std::string& single_file) const {
  for (const BlockName& block : blocks_) {
    if (is_within(single_file, block.single_file)) return &block;
  }
  return nullptr;
}

std::optional<std::string> BlockNames::to_diffusers(const std::string& single_file) const {
  const BlockName* block = block_of(single_file);
  if (block == nullptr) return std::nullopt;
  return block->diffusers +
         rename_child(std::string_view(single_file).substr(block->single_file.size()), block->kind, true);
}

std::optional<std::string> BlockNames::to_single_file(const std::string& diffusers) const {
  for (const BlockName& block : blocks_) {
    if (!is_within(diffusers, block.diffusers)) continue;
    return block.single_file +
           rename_child(std::string_view(diffusers).substr(block.diffusers.size()), block.kind, false);
  }
  return std::nullopt;
}

}  // namespace cinnabar::models::sd
