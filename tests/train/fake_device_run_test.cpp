// A whole training run on a fake accelerator: every tensor of a step must be on the device, and what is trained is what
// the processor trains. Where a part of the program forgets to move a tensor, this fails as a GPU would.
#include <cmath>
#include <sstream>
#include <vector>

#include <doctest/doctest.h>

#include "cinnabar/nn/attention_choice.h"
#include "tensor/fake_accelerator.h"
#include "train/run_outcome.h"

namespace cinnabar::test {

namespace {

std::vector<double> losses_of(const std::map<Part, std::string>& outcome) {
  std::vector<double> losses;
  if (!outcome.contains(Part::Losses)) return losses;
  std::istringstream text(outcome.at(Part::Losses));
  for (double loss = 0.0; text >> loss;) losses.push_back(loss);
  return losses;
}

// The same run on the processor and on the fake accelerator.
void compare(const Words& words) {
  static Laboratory laboratory;
  register_fake_accelerator();
  const auto with = [&](const char* device) {
    Words all = words;
    all.insert(all.end(), {"--device", device});
    return laboratory.run(all);
  };
  const auto expected = with("cpu");
  // Outside backends have no fused kernel.
  nn::set_largest_fused_head(0);
  reset_fake_counts();
  const auto found = with("gpu");
  nn::set_largest_fused_head(nn::kAnyHead);
  if (found.contains(Part::Error)) FAIL(found.at(Part::Error));
  const std::vector<double> own = losses_of(found);
  const std::vector<double> other = losses_of(expected);
  REQUIRE(own.size() == other.size());
  REQUIRE(own.size() >= 2);
  for (size_t i = 0; i < own.size(); ++i) {
    CAPTURE(i);
    // fp32 by other kernels: sums in another order, over some steps.
    CHECK(std::abs(own[i] - other[i]) < 1e-4 * (1.0 + std::abs(other[i])));
  }
  CHECK_FALSE(fake_counts().copies.empty());
}

TEST_CASE("a run on an accelerator trains what the processor trains") { compare({"--max_train_steps", "3"}); }

TEST_CASE("checkpointing, accumulation and cached latents on an accelerator") {
  compare({"--gradient_checkpointing", "--gradient_accumulation_steps", "2", "--cache_latents"});
}

TEST_CASE("pictures on the way are made on an accelerator") {
  compare({"--sample_prompts", "prompts.txt", "--sample_at_first"});
}

}  // namespace

}  // namespace cinnabar::test
