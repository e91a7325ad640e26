// Ranks and learning rates by block of the U-Net, as network_args give them (no torch).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/schema/option.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::adapters {

// "0,0.5,1" or a curve over the blocks with something added: "sine+0.25".
struct BlockWeights {
  std::string curve{};  // cosine, sine, linear, reverse_linear, zeros; empty: `values`
  double added = 0.0;   // to a curve
  std::vector<double> values{};

  // One weight a block, the first `count` blocks of the part. Missing values are 1, surplus ones are left out.
  std::vector<double> over(size_t count) const;
};

struct BlockOptions {
  std::vector<int64_t> dims{};  // empty: not given
  std::vector<double> alphas{};
  std::vector<int64_t> conv_dims{};
  std::vector<double> conv_alphas{};
  std::optional<BlockWeights> down{};  // of the learning rate
  std::optional<BlockWeights> mid{};
  std::optional<BlockWeights> up{};
  double zero_threshold = 0.0;  // weights up to this count as 0

  bool has_weights() const { return down || mid || up; }
  // Otherwise alphas, conv_dims and conv_alphas are not looked at, as in the reference tool.
  bool is_on() const { return has_weights() || !dims.empty(); }
};

// The rows of network_args, for the kinds that have ranks.
std::vector<schema::Option> block_option_rows();

// From values that were read against block_option_rows(). Throws Error{Config} for a list that is neither numbers nor a
// curve, and for ranks that are not whole.
BlockOptions read_block_options(const schema::Values& args);

}  // namespace cinnabar::adapters
