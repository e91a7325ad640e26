#include "cinnabar/train/validation_verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cinnabar::train {

namespace {

constexpr double kTolerance = 0.005;  // of the lowest loss
constexpr double kFar = 0.25;         // above the lowest loss
constexpr size_t kFewest = 3;

std::string loss_text(double loss) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", loss);
  return text;
}

}  // namespace

Verdict verdict_of(const std::vector<ValidationLoss>& losses) {
  Verdict verdict;
  std::vector<ValidationLoss> usable;
  for (const ValidationLoss& one : losses) {
    if (std::isfinite(one.loss)) usable.push_back(one);
  }
  if (!usable.empty()) {
    const auto best = std::ranges::min_element(usable, {}, &ValidationLoss::loss);
    verdict.best_step = best->step;
    verdict.best_loss = best->loss;
  }
  if (!losses.empty() && !std::isfinite(losses.back().loss)) {
    verdict.trend = Trend::NotFinite;
    return verdict;
  }
  if (usable.size() < kFewest) return verdict;
  const double margin = kTolerance * verdict.best_loss;
  const double newest = usable.back().loss;
  const double before = usable[usable.size() - 2].loss;
  // Two in succession above the lowest: one alone may be a bump. Far above it a small fall is no way back.
  const double nearer = std::min(newest, before);
  if (nearer > verdict.best_loss + margin && (newest > before - margin || nearer > (1.0 + kFar) * verdict.best_loss)) {
    verdict.trend = Trend::Rising;
    verdict.since_step = verdict.best_step;
    return verdict;
  }
  // The first measurement from which on all are as good as the newest.
  size_t first = usable.size() - 1;
  while (first > 0 && std::abs(usable[first - 1].loss - newest) <= margin) --first;
  if (usable.size() - first >= kFewest) {
    verdict.trend = Trend::Flat;
    verdict.since_step = usable[first].step;
  } else {
    verdict.trend = newest <= verdict.best_loss + margin ? Trend::Improving : Trend::Above;
  }
  return verdict;
}

std::string to_text(const Verdict& verdict, const std::string& nearest_file, int64_t file_step) {
  std::string text;
  switch (verdict.trend) {
    case Trend::TooFew:
      text = "too few measurements for a verdict";
      break;
    case Trend::Improving:
      text = "improving";
      break;
    case Trend::Flat:
      text = "flat since step " + std::to_string(verdict.since_step) +
             " (it has learned what it can, or its learning rate is too low)";
      break;
    case Trend::Rising:
      text = "rising since step " + std::to_string(verdict.since_step) + ": likely overfitting";
      break;
    case Trend::Above:
      text = "above the best; the next measurements show whether it falls again";
      break;
    case Trend::NotFinite:
      text = "not a number: the run has gone wrong";
      break;
  }
  if (verdict.best_loss <= 0.0) return text;
  text += ". The best was step " + std::to_string(verdict.best_step) + " (loss " + loss_text(verdict.best_loss) + ")";
  if (nearest_file.empty()) return text;
  text += "; the nearest saved file is " + nearest_file;
  if (file_step != verdict.best_step) text += " of step " + std::to_string(file_step);
  return text;
}

}  // namespace cinnabar::train
