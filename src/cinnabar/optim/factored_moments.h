// Running means of squares of the parameters of one group in little memory: of matrices only row and column means are
// kept, whose product stands for the whole (Shazeer and Stern 2018, "Adafactor", section 3).
#pragma once

#include <string>
#include <vector>

#include "cinnabar/optim/flat_parameters.h"

namespace cinnabar::optim {

class FactoredMoments {
 public:
  // Parameters with two dimensions or more keep means over their last and over their last but one dimension; the others
  // whole means, or nothing when `keeps_whole` is false.
  FactoredMoments(const ParameterGroup& group, bool keeps_whole);

  bool is_factored(size_t parameter) const { return places_[parameter].is_factored; }
  // mean = keep mean + (1 - keep) squares; returns one over the root of the mean, shaped like `squares`.
  at::Tensor inverse_root(size_t parameter, const at::Tensor& squares, double keep) const;

  // Adds "NAME_row.GROUP", "NAME_col.GROUP" and "NAME.GROUP", as far as there are such parameters.
  void add_state(const std::string& name, const std::string& group, NamedTensors& state) const;

 private:
  // Where a parameter's means begin.
  struct Place {
    bool is_factored = false;
    int64_t row = 0;
    int64_t column = 0;
    int64_t whole = 0;
  };
  std::vector<Place> places_;
  at::Tensor rows_;     // means over the last dimension
  at::Tensor columns_;  // means over the last but one
  at::Tensor whole_;
};

// Root of the mean of the squares: 0-d fp64 where the values lie, so that nothing waits for a GPU.
at::Tensor root_mean_square(const at::Tensor& values);
// What brings the root mean square of a step down to `threshold`: 1 where it is below. 0-d fp64.
at::Tensor clip_factor(const at::Tensor& step, double threshold);

}  // namespace cinnabar::optim
