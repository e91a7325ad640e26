// Optimizers whose state is one set of flat fp32 buffers a group and a few numbers of the whole run.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/optim/flat_pass.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

class BufferedOptimizer : public Optimizer {
 public:
  NamedTensors state() override;

 protected:
  // Buffers are filled with 0, as numbers are. Names are those of the state: "exp_avg" gives "exp_avg.GROUP".
  BufferedOptimizer(FlatParameters& parameters, std::vector<std::string> buffers, std::vector<std::string> numbers);

  const std::vector<ParameterGroup>& groups() const { return parameters_.groups(); }
  static Span whole(const ParameterGroup& group) { return {0, group.values.numel()}; }
  const at::Tensor& buffer(size_t group, size_t index) const { return buffers_[group][index]; }
  // Kept in fp64 and saved with the state.
  double& number(size_t index) const { return numbers_.mutable_data_ptr<double>()[index]; }

 private:
  FlatParameters& parameters_;
  std::vector<std::string> buffer_names_;
  std::vector<std::string> number_names_;
  std::vector<std::vector<at::Tensor>> buffers_;  // by group, then in the order of the names
  at::Tensor numbers_;                            // fp64 on the CPU
};

}  // namespace cinnabar::optim
