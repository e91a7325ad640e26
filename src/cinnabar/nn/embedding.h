// A table of vectors, looked up by row number.
#pragma once

#include "cinnabar/nn/module.h"

namespace cinnabar::nn {

class Embedding : public Module {
 public:
  // `deviation`: of the normal start values of a new model.
  Embedding(int64_t rows, int64_t width, double deviation = 1.0);
  at::Tensor forward(const at::Tensor& ids) const;  // int64 [...] -> [..., D]

  double deviation() const { return deviation_; }

  at::Tensor weight;  // [rows, D]

 private:
  double deviation_;
};

}  // namespace cinnabar::nn
