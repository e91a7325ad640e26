// Running means of the parameters of one group, in fp32 or as block-wise 8-bit codes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cinnabar/optim/blockwise_kernel.h"
#include "cinnabar/optim/flat_parameters.h"
#include "cinnabar/optim/flat_pass.h"

namespace cinnabar::optim {

// A stretch of the group's buffer whose elements are kept in one form.
struct MomentRun {
  Span span;          // in the group's buffer
  int64_t state = 0;  // where it begins in the codes or in the fp32 values
  bool is_coded = false;
};

// Runs of a group: parameters with `min_8bit_size` elements or more are coded, and neighbours of one form join.
// Without a size nothing is coded. Blocks begin with each parameter, since parameters lie at multiples of a block.
std::vector<MomentRun> moment_runs(const ParameterGroup& group, std::optional<int64_t> min_8bit_size);

class MomentStore {
 public:
  MomentStore(const ParameterGroup& group, const std::vector<MomentRun>& runs, const CodeLevels& levels);

  // fp32 values of elements [begin, begin + count) of the buffer, which lie in `run`; `begin` is whole blocks behind
  // the run's. What is written into the result counts after `save`.
  at::Tensor load(const MomentRun& run, int64_t begin, int64_t count) const;
  void save(const MomentRun& run, int64_t begin, const at::Tensor& values) const;

  // Adds "NAME.GROUP", "NAME_codes.GROUP" and "NAME_scales.GROUP", as far as there are such elements.
  void add_state(const std::string& name, const std::string& group, NamedTensors& state) const;

 private:
  const CodeLevels& levels_;
  at::Tensor values_;  // fp32, of the runs that are not coded
  at::Tensor codes_;   // uint8
  at::Tensor scales_;  // fp32, one a block of codes
  at::Tensor level_;   // the levels and thresholds as tensors, when the group is on a GPU
  at::Tensor threshold_;
};

// libtorch's forms of the kernels, for any device: `values` has a multiple of 256 elements; codes and scales.
std::pair<at::Tensor, at::Tensor> quantized(const at::Tensor& values, const at::Tensor& thresholds);
at::Tensor dequantized(const at::Tensor& codes, const at::Tensor& scales, const at::Tensor& levels);

}  // namespace cinnabar::optim
