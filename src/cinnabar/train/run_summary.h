// What a run is about to do, in a few lines at its start.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/schema/values.h"

namespace cinnabar::train {

struct SummaryFacts {
  const schema::Values& values;  // as the rules of the optimizer left them
  std::string family;            // "sd1"
  std::string prediction;        // "the noise" or "v"
  std::string device;            // "cpu", "cuda:0"
  std::string optimizer;         // as given; "": AdamW
  size_t layers = 0;
  int64_t parameters = 0;
  std::vector<std::pair<std::string, double>> rates{};  // of the groups
  int64_t steps = 0;                                    // of the whole run
};

// Model, network, optimizer: one line each.
std::vector<std::string> summary_lines(const SummaryFacts& facts);

// What is odd about a warm-up that the run does not outlive; "" otherwise.
std::string warmup_warning(const schema::Values& values, int64_t steps);

}  // namespace cinnabar::train
