// Settings of an adapter network, as the options and network_args give them (no torch).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/adapters/block_options.h"
#include "cinnabar/adapters/layer_rank.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::adapters {

struct AdapterOptions {
  int64_t network_dim = 4;
  Alpha network_alpha{};              // 0 means: equal to the rank
  std::optional<int64_t> conv_dim{};  // rank of convolutions larger than 1x1; also switches the extended targets on
  Alpha conv_alpha{.is_whole = false};
  double network_dropout = 0.0;  // probability, on the low-rank state
  double rank_dropout = 0.0;     // probability, of whole ranks of a sample
  double module_dropout = 0.0;   // probability, of whole layers in a step
  bool train_unet = true;
  bool train_text_encoder = true;
  uint64_t seed = 0;                          // of initial values
  std::optional<double> loraplus_lr_ratio{};  // rate of the up matrices over that of the down matrices
  std::optional<double> loraplus_unet_lr_ratio{};
  std::optional<double> loraplus_text_encoder_lr_ratio{};
  BlockOptions blocks{};  // ranks and rates by block of the U-Net
  // What was given and does nothing, in words for the user.
  std::vector<std::string> notes{};
};

// Reads network_dim, network_alpha, network_dropout, the same-named options of the kind, network_args ("key=value",
// which win), network_train_unet_only, network_train_text_encoder_only and seed. With dim_from_weights, ranks, alphas
// and all network_args but the rates of blocks count for nothing, as in the reference tool; notes say so. Throws
// Error{Config} that lists every bad entry.
AdapterOptions adapter_options(const schema::Values& values);

}  // namespace cinnabar::adapters
