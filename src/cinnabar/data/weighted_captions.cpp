#include "cinnabar/data/weighted_captions.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "cinnabar/text/weighted_prompt.h"

namespace cinnabar::data {

namespace {

// The first problem of the lines of a caption, each of which may be drawn; "" when all can be read.
std::string problem_of(std::string_view caption) {
  while (!caption.empty()) {
    const size_t end = std::min(caption.find('\n'), caption.size());
    if (std::string problem = text::weight_problem(caption.substr(0, end)); !problem.empty()) return problem;
    caption.remove_prefix(std::min(end + 1, caption.size()));
  }
  return {};
}

}  // namespace

void check_weighted_captions(Dataset& dataset) {
  for (const Sample& sample : dataset.samples) {
    const std::string problem = problem_of(sample.caption);
    if (problem.empty()) continue;
    dataset.issues.push_back({Severity::Warning, sample.path, "the weights of its caption cannot be read: " + problem,
                              "its words count without weights", Treatment::Used, "bad_weights"});
  }
}

}  // namespace cinnabar::data
