#include "cinnabar/hardware/advice.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/hardware/detect.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

std::string value_of(const std::vector<AdvisedOption>& options, const std::string& name) {
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const AdvisedOption& option) { return option.name == name; });
  return found == options.end() ? "" : found->value;
}

TEST_CASE("the_promised_presets_by_card") {
  const auto of = [](const char* name) {
    return recommend_for({.name = name, .vendor = "amd", .vram_bytes = 1 * kGib, .precisions = {.fp8 = "none"}});
  };
  const Recommendation small = of("AMD Radeon RX 7600");
  CHECK(small.batch_size == 2);
  CHECK(small.gradient_accumulation == 4);
  CHECK(small.preset_precision == "fp16");
  CHECK(small.max_params_billion == 7);
  CHECK(of("AMD Radeon RX 7800 XT").max_params_billion == 13);
  CHECK(of("AMD Radeon RX 7900 XTX").max_params_billion == 30);
  const Recommendation instinct = of("AMD Instinct MI250X / MI250");
  CHECK(instinct.batch_size == 16);
  CHECK(instinct.preset_precision == "fp8");
  CHECK(instinct.effective_compute_precision == "bf16");
  for (const char* other : {"AMD Radeon RX 7600 XT", "AMD Radeon RX 7900 XT", "AMD Instinct MI250X", "RX 76000"}) {
    CAPTURE(other);
    CHECK(of(other).source == "tier");
  }
}

TEST_CASE("options_for_a_card_and_for_the_processor") {
  const auto options = advised_options(detect(fixture("mi250-2gcd")));
  CHECK(value_of(options, "train_batch_size") == "16");
  CHECK(value_of(options, "mixed_precision") == "bf16");
  CHECK(value_of(options, "fp8_base") == "true");
  CHECK(value_of(options, "gradient_checkpointing").empty());
  const auto small = advised_options(detect(fixture("rx7600-rocm641")));
  CHECK(value_of(small, "gradient_accumulation_steps") == "4");
  CHECK(value_of(small, "mixed_precision") == "fp16");
  CHECK(value_of(small, "gradient_checkpointing") == "true");
  CHECK(value_of(small, "no_half_vae") == "true");
  CHECK(value_of(advised_options(detect(fixture("no-gpu"))), "mixed_precision") == "no");
  // A card that cannot be reached is no reason for its settings.
  CHECK(value_of(advised_options(detect(fixture("kfd-permission-denied"))), "mixed_precision") == "no");
}

TEST_CASE("what_fits_of_each_family") {
  const auto large = family_advice(detect(fixture("mi300x-x8")));
  REQUIRE(large.size() == 4);
  CHECK(large[3].settings.find("full fine-tuning") != std::string::npos);
  const auto plain = family_advice(detect(fixture("rx6700xt-override")));
  CHECK(plain[1].settings.find("no fused attention") != std::string::npos);
  CHECK(family_advice(detect(fixture("no-gpu"))).empty());
}

TEST_CASE("a_display_and_the_system_keep_their_share") {
  CHECK(memory_budget({.vram_bytes = 16 * kGib}) == 16 * kGib);
  CHECK(memory_budget({.vram_bytes = 16 * kGib, .has_display = true}) == 15 * kGib);
  CHECK(memory_budget({.unified_memory_bytes = 62 * kGib, .is_integrated = true}) == 58 * kGib);
}

}  // namespace

}  // namespace cinnabar::hardware
