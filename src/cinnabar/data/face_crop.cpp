#include "cinnabar/data/face_crop.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "cinnabar/base/error.h"

namespace cinnabar::data {

namespace {

// A face below this (pixels, and a tenth of the target) is not moved about.
constexpr int64_t kSmallestMovedFace = 40;

// One axis of the cut.
struct Axis {
  int64_t length = 0;  // of the resized picture
  int64_t target = 0;
  int64_t centre = 0;  // of the face
};

int64_t start_of(const Axis& axis, const FaceCutRule& rule, int64_t face, base::RandomStream& random) {
  int64_t start = axis.centre - axis.target / 2;
  if (rule.roams) {
    // The sum of two draws lies in the middle more often than at the ends.
    const int64_t reach = std::max<int64_t>(0, std::max(axis.length - axis.centre, axis.centre));
    const int64_t first = random.integer(0, reach + 1);
    start += first + random.integer(0, reach + 1) - reach;
  } else if (rule.range[0] != rule.range[1]) {
    const int64_t shorter = std::min(rule.target.width, rule.target.height);
    if (face > shorter / 10 && face >= kSmallestMovedFace) {
      start += random.integer(-((face + 19) / 20), face / 20 + 1);  // floor(-face / 20) to floor(face / 20)
    }
  }
  return std::clamp<int64_t>(start, 0, axis.length - axis.target);
}

}  // namespace

std::optional<Face> face_from_name(const std::filesystem::path& path) {
  std::vector<std::string> parts;
  const std::string stem = path.stem().string();
  for (size_t start = 0; start <= stem.size();) {
    const size_t end = std::min(stem.find('_', start), stem.size());
    parts.push_back(stem.substr(start, end - start));
    start = end + 1;
  }
  if (parts.size() < 5) return std::nullopt;
  std::array<int64_t, 4> numbers{};
  for (size_t i = 0; i < 4; ++i) {
    const std::string& text = parts[parts.size() - 4 + i];
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), numbers[i]);
    if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    if (numbers[i] < 0 || numbers[i] > 1'000'000) return std::nullopt;
  }
  if (numbers[0] == 0 || std::max(numbers[2], numbers[3]) == 0) return std::nullopt;
  return Face{numbers[0], numbers[1], numbers[2], numbers[3]};
}

FaceCut face_cut(const FaceCutRule& rule, const Face& face, base::RandomStream& random) {
  const auto ratio = [](int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  const int64_t face_side = std::max(face.width, face.height);
  const auto shorter = static_cast<double>(std::min(rule.target.width, rule.target.height));
  const auto at_range = [&](double range) { return shorter / (static_cast<double>(face_side) * range); };
  CINNABAR_ASSERT(face_side > 0 && rule.range[0] > 0 && rule.range[1] > 0);
  double low = std::max(ratio(rule.target.height, rule.picture.height), ratio(rule.target.width, rule.picture.width));
  CINNABAR_ASSERT(low <= 1.0);
  low = std::min(1.0, std::max(low, at_range(rule.range[1])));
  const double high = std::min(1.0, std::max(low, at_range(rule.range[0])));
  const double scale = low >= high ? low : low + (high - low) * random.uniform();
  const auto scaled = [&](int64_t x) { return rounded(static_cast<double>(x) * scale); };
  FaceCut cut;
  cut.resized = {std::max(scaled(rule.picture.width), rule.target.width),
                 std::max(scaled(rule.picture.height), rule.target.height)};
  cut.offset.top = start_of({cut.resized.height, rule.target.height, scaled(face.centre_y)}, rule, face_side, random);
  cut.offset.left = start_of({cut.resized.width, rule.target.width, scaled(face.centre_x)}, rule, face_side, random);
  return cut;
}

}  // namespace cinnabar::data
