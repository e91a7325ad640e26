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

// The same run on the processor and on the fake accelerator. Losses may differ by `tolerance`, relative where above 1:
// fp32 by other kernels sums in another order; half types keep 8 to 11 bits.
void compare(Laboratory& laboratory, const Words& words, double tolerance) {
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
    CHECK(std::abs(own[i] - other[i]) < tolerance * (1.0 + std::abs(other[i])));
  }
  CHECK_FALSE(fake_counts().copies.empty());
}

void compare(const Words& words, double tolerance = 1e-4) {
  static Laboratory laboratory;
  compare(laboratory, words, tolerance);
}

TEST_CASE("a run on an accelerator trains what the processor trains") { compare({"--max_train_steps", "3"}); }

TEST_CASE("a step waits for the accelerator twice: for its loss and for the norm of its gradient") {
  // Outcomes are computed once for the same words, hence numbers of steps of their own.
  compare({"--max_train_steps", "4"});
  const int64_t few = fake_counts().host_reads;
  compare({"--max_train_steps", "9"});
  CHECK(fake_counts().host_reads - few == 2 * 5);
}

TEST_CASE("checkpointing, accumulation and cached latents on an accelerator") {
  compare({"--gradient_checkpointing", "--gradient_accumulation_steps", "2", "--cache_latents"});
}

TEST_CASE("pictures on the way are made on an accelerator") {
  compare({"--sample_prompts", "prompts.txt", "--sample_at_first"});
}

TEST_CASE("options that touch tensors work on an accelerator") {
  for (const Words& words : std::vector<Words>{{"--noise_offset", "0.1", "--min_snr_gamma", "5"},
                                               {"--multires_noise_iterations", "4", "--ip_noise_gamma", "0.1"},
                                               {"--loss_type", "huber", "--huber_schedule", "snr"},
                                               {"--alpha_mask"},
                                               {"--v_parameterization", "--scale_v_pred_loss_like_noise_pred"},
                                               {"--scale_weight_norms", "0.1"},
                                               {"--network_dropout", "0.3"},
                                               {"--ema"},
                                               {"--save_state"},
                                               {"--weighted_captions", "--clip_skip", "2"},
                                               {"--validation_split", "0.5", "--train_data_dir", "many"},
                                               {"--cache_text_encoder_outputs", "--network_train_unet_only"}}) {
    CAPTURE(words[0]);
    compare(words);
  }
}

TEST_CASE("optimizers work on an accelerator") {
  for (const char* type : {"AdamW8bit", "Lion", "Lion8bit", "SGDNesterov", "AdaFactor", "Prodigy", "DAdaptAdam",
                           "AdamWScheduleFree", "CAME"}) {
    CAPTURE(type);
    compare({"--optimizer_type", type}, 1e-3);
  }
}

TEST_CASE("half precision works on an accelerator") {
  for (const Words& words : std::vector<Words>{{"--mixed_precision", "bf16"},
                                               {"--mixed_precision", "fp16"},
                                               {"--mixed_precision", "bf16", "--full_bf16"},
                                               {"--mixed_precision", "fp16", "--full_fp16"}}) {
    CAPTURE(words.back());
    compare(words, 3e-2);
  }
}

// Last, since each of these laboratories becomes the working folder.
TEST_CASE("other families work on an accelerator") {
  for (const char* family : {"sd2", "sdxl"}) {
    CAPTURE(family);
    Laboratory laboratory(family);
    compare(laboratory, {"--gradient_checkpointing"}, 1e-4);
  }
}

}  // namespace

}  // namespace cinnabar::test
