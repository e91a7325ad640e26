// What a series of held-out losses says about a run, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::train {

struct ValidationLoss {
  int64_t step = 0;
  double loss = 0.0;
};

enum class Trend {
  TooFew,     // less than three measurements
  Improving,  // the lowest loss is a recent one
  Flat,       // no change larger than the tolerance for a while
  Rising,     // above the lowest loss and not on its way back, or far above it: likely overfitting
  Above,      // above the lowest loss, as a bump or on its way back
  NotFinite,  // the newest loss is no number
};

struct Verdict {
  Trend trend = Trend::TooFew;
  int64_t best_step = 0;
  double best_loss = 0.0;
  int64_t since_step = 0;  // Flat and Rising: where it began
};

// Losses in the order of measuring, all over the same pictures, noise and timesteps: what changes comes from the
// weights alone, so that small differences count. A change below 0.5 % of the lowest loss is none.
Verdict verdict_of(const std::vector<ValidationLoss>& losses);

// "rising since step 400: likely overfitting. The best was step 400 (loss 0.1021); the nearest saved file is
// a.safetensors of step 500". `nearest_file` may be empty; its step is told when it is another one than the best.
std::string to_text(const Verdict& verdict, const std::string& nearest_file, int64_t file_step);

}  // namespace cinnabar::train
