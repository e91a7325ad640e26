#include "cinnabar/data/resample_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cinnabar::data {

namespace {

struct Tap {
  int64_t index;
  double weight;
};

// Collects the taps of one output pixel after the other. Indices past the border count for the border pixel.
class TableBuilder {
 public:
  explicit TableBuilder(int64_t from) : from_(from) {}

  void add(const std::vector<Tap>& taps) {
    const auto clamped = [&](int64_t index) { return std::clamp<int64_t>(index, 0, from_ - 1); };
    int64_t low = from_ - 1;
    int64_t high = 0;
    for (const Tap& tap : taps) {
      low = std::min(low, clamped(tap.index));
      high = std::max(high, clamped(tap.index));
    }
    std::vector<double> row(static_cast<size_t>(high - low + 1));
    for (const Tap& tap : taps) row[static_cast<size_t>(clamped(tap.index) - low)] += tap.weight;
    starts_.push_back(static_cast<size_t>(low));
    rows_.push_back(std::move(row));
  }

  ResampleTable finish() const {
    ResampleTable table;
    for (const auto& row : rows_) table.stride = std::max(table.stride, row.size());
    table.start = starts_;
    for (const auto& row : rows_) {
      table.count.push_back(row.size());
      table.weights.insert(table.weights.end(), row.begin(), row.end());
      table.weights.resize(table.count.size() * table.stride);
    }
    return table;
  }

 private:
  int64_t from_;
  std::vector<size_t> starts_;
  std::vector<std::vector<double>> rows_;
};

double sinc(double x) { return x == 0.0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

// Each output pixel covers [i * scale, (i + 1) * scale) of the source; slivers below a thousandth are left out.
std::vector<Tap> area_taps(int64_t i, int64_t from, double scale) {
  constexpr double kSliver = 1e-3;
  const double low = static_cast<double>(i) * scale;
  const double high = low + scale;
  const double width = std::min(scale, static_cast<double>(from) - low);
  const int64_t last = std::min(static_cast<int64_t>(std::floor(high)), from - 1);
  const int64_t first = std::min(static_cast<int64_t>(std::ceil(low)), last);
  std::vector<Tap> taps;
  if (static_cast<double>(first) - low > kSliver)
    taps.push_back({first - 1, (static_cast<double>(first) - low) / width});
  for (int64_t s = first; s < last; ++s) taps.push_back({s, 1.0 / width});
  const double rest = high - static_cast<double>(last);
  if (rest > kSliver) taps.push_back({last, std::min({rest, 1.0, width}) / width});
  return taps;
}

// Area in its enlarging form: linear between two pixels, but flat inside each enlarged pixel.
std::vector<Tap> area_linear_taps(int64_t i, double scale, double inverse) {
  const auto source = static_cast<int64_t>(std::floor(static_cast<double>(i) * scale));
  // fp32: just below 1 becomes 1, which counts as 0.
  auto fraction = static_cast<float>(static_cast<double>(i + 1) - static_cast<double>(source + 1) * inverse);
  fraction = fraction <= 0.0F ? 0.0F : fraction - std::floor(fraction);
  return {{source, 1.0 - static_cast<double>(fraction)}, {source + 1, static_cast<double>(fraction)}};
}

std::vector<Tap> linear_taps(int64_t i, double scale) {
  const double position = (static_cast<double>(i) + 0.5) * scale - 0.5;
  const double source = std::floor(position);
  return {{static_cast<int64_t>(source), 1.0 - (position - source)},
          {static_cast<int64_t>(source) + 1, position - source}};
}

// Keys' cubic with a = -0.75.
std::vector<Tap> cubic_taps(int64_t i, double scale) {
  constexpr double a = -0.75;
  const double position = (static_cast<double>(i) + 0.5) * scale - 0.5;
  const auto source = static_cast<int64_t>(std::floor(position));
  std::vector<Tap> taps;
  for (int64_t t = source - 1; t <= source + 2; ++t) {
    const double d = std::abs(position - static_cast<double>(t));
    const double inner = ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
    const double outer = ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
    taps.push_back({t, d <= 1.0 ? inner : (d < 2.0 ? outer : 0.0)});
  }
  return taps;
}

}  // namespace

ResampleTable pillow_table(int64_t from, int64_t to, Interpolation interpolation) {
  const bool is_box = interpolation == Interpolation::Box;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);  // the filter widens when shrinking: antialiasing
  const double support = (is_box ? 0.5 : 3.0) * stretch;
  TableBuilder builder(from);
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const int64_t low = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5));
    const int64_t high = std::min<int64_t>(from, static_cast<int64_t>(centre + support + 0.5));
    std::vector<Tap> taps;
    double sum = 0.0;
    for (int64_t s = low; s < high; ++s) {
      const double x = (static_cast<double>(s) - centre + 0.5) / stretch;
      taps.push_back({s, is_box ? box(x) : lanczos(x)});
      sum += taps.back().weight;
    }
    for (Tap& tap : taps) tap.weight = sum == 0.0 ? tap.weight : tap.weight / sum;
    builder.add(taps);
  }
  return builder.finish();
}

ResampleTable opencv_table(int64_t from, int64_t to, Interpolation interpolation, bool is_shrinking) {
  // In this order, since the floor of a multiple of the scale decides between two pixels.
  const double inverse = static_cast<double>(to) / static_cast<double>(from);
  const double scale = 1.0 / inverse;
  TableBuilder builder(from);
  for (int64_t i = 0; i < to; ++i) {
    if (interpolation == Interpolation::Area) {
      builder.add(is_shrinking ? area_taps(i, from, scale) : area_linear_taps(i, scale, inverse));
    } else {
      builder.add(interpolation == Interpolation::Bicubic ? cubic_taps(i, scale) : linear_taps(i, scale));
    }
  }
  return builder.finish();
}

std::vector<size_t> nearest_indices(int64_t from, int64_t to) {
  // 16 fractional bits; the first sample lies half a step in, moved left by one unit for odd sizes.
  const int64_t step = ((from << 16) + to / 2) / to;
  const int64_t start = step / 2 - from % 2;
  std::vector<size_t> indices;
  for (int64_t i = 0; i < to; ++i) {
    indices.push_back(static_cast<size_t>(std::clamp<int64_t>((step * i + start) >> 16, 0, from - 1)));
  }
  return indices;
}

}  // namespace cinnabar::data
