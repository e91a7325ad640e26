#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/factored_moments.h"

#include <ATen/ATen.h>

namespace cinnabar::optim {

FactoredMoments::FactoredMoments(const ParameterGroup& group, bool keeps_whole) {
  Place next;
  for (const ParameterSlot& slot : group.slots) {
    next.is_factored = slot.shape.size() >= 2;
    places_.push_back(next);
    if (next.is_factored) {
      next.row += slot.count / slot.shape.back();
      next.column += slot.count / slot.shape[slot.shape.size() - 2];
    } else if (keeps_whole) {
      next.whole += slot.count;
    }
  }
  rows_ = at::zeros({next.row}, group.values.options());
  columns_ = at::zeros({next.column}, group.values.options());
  whole_ = at::zeros({next.whole}, group.values.options());
}

at::Tensor FactoredMoments::inverse_root(size_t parameter, const at::Tensor& squares, double keep) const {
  const Place& place = places_[parameter];
  const auto updated = [&](const at::Tensor& buffer, int64_t begin, const at::Tensor& fresh) {
    at::Tensor mean = buffer.narrow(0, begin, fresh.numel()).view(fresh.sizes());
    return mean.mul_(keep).add_(fresh, 1.0 - keep);
  };
  if (!place.is_factored) return updated(whole_, place.whole, squares).rsqrt();
  const at::Tensor row = updated(rows_, place.row, squares.mean(-1));           // [..., R]
  const at::Tensor column = updated(columns_, place.column, squares.mean(-2));  // [..., C]
  const at::Tensor row_factor = (row / row.mean(-1, /*keepdim=*/true)).rsqrt_();
  return row_factor.unsqueeze(-1) * column.rsqrt().unsqueeze(-2);
}

void FactoredMoments::add_state(const std::string& name, const std::string& group, NamedTensors& state) const {
  if (rows_.numel() > 0) {
    state.emplace_back(name + "_row." + group, rows_);
    state.emplace_back(name + "_col." + group, columns_);
  }
  if (whole_.numel() > 0) state.emplace_back(name + "." + group, whole_);
}

at::Tensor root_mean_square(const at::Tensor& values) {
  return at::sum(values * values, at::kDouble).div_(static_cast<double>(values.numel())).sqrt_();
}

at::Tensor clip_factor(const at::Tensor& step, double threshold) {
  return root_mean_square(step).div_(threshold).clamp_min_(1.0).reciprocal_();
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
