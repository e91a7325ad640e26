// Module names of the SD U-Net and autoencoder in single files and in diffusers folders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::models::sd {

// What decides how blocks are numbered.
struct UNetLayout {
  std::vector<int64_t> res_blocks;  // a level, on the way down
  std::vector<bool> has_attention;  // a level
};

enum class BlockKind { Plain, UNetResnet, UNetTransformer, Resample, VaeResnet, VaeAttention };

struct BlockName {
  std::string single_file;  // "input_blocks.1.0"
  std::string diffusers;    // "down_blocks.0.resnets.0"
  BlockKind kind = BlockKind::Plain;
};

class BlockNames {
 public:
  static BlockNames of_unet(const UNetLayout& layout);
  // `levels` of the autoencoder; `blocks` at most that many residual blocks a level are named.
  static BlockNames of_vae(int64_t levels, int64_t blocks);

  // Names below the part's prefix, of modules or tensors; nothing when the name belongs to no known block.
  std::optional<std::string> to_diffusers(const std::string& single_file) const;
  std::optional<std::string> to_single_file(const std::string& diffusers) const;
  // The block that a single-file name belongs to, or null.
  const BlockName* block_of(const std::string& single_file) const;

 private:
  void add(std::string single_file, std::string diffusers, BlockKind kind = BlockKind::Plain);

  std::vector<BlockName> blocks_;
};

}  // namespace cinnabar::models::sd
