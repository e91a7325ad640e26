#include "cinnabar/base/text_match.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cinnabar::base {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

namespace {

// Whether `name` is `whole` with something left out in one place: "dpm++" of "dpmsolver++".
bool is_shortened(std::string_view name, std::string_view whole) {
  if (name.size() >= whole.size()) return false;
  size_t front = 0;
  while (front < name.size() && name[front] == whole[front]) ++front;
  size_t back = 0;
  while (back < name.size() - front && name[name.size() - 1 - back] == whole[whole.size() - 1 - back]) ++back;
  return front > 0 && back > 0 && front + back == name.size();
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  // What is longer is no mistyped name, and the work grows with the square of the length.
  constexpr size_t kMostBytes = 100;
  if (name.size() > kMostBytes) return {};
  std::string best;
  size_t best_distance = SIZE_MAX;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMostBytes) continue;
    const size_t limit = std::max<size_t>(2, std::max(name.size(), candidate.size()) / 3);
    // The distance is at least the difference of the lengths.
    if (std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size()) > limit) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance <= limit && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  // Beyond one slip of the finger, a name whose middle was left out is the better guess.
  constexpr size_t kLeastShort = 5;
  if (best_distance <= 1 || name.size() < kLeastShort) return best;
  std::string whole;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMostBytes || candidate.size() > name.size() * 3 || !is_shortened(name, candidate)) continue;
    if (whole.empty() || candidate.size() < whole.size()) whole = candidate;
  }
  return whole.empty() ? best : whole;
}

}  // namespace cinnabar::base
