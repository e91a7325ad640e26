#include "cinnabar/hardware/attention_support.h"

#include <doctest/doctest.h>

#include "cinnabar/hardware/access.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/gfx.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

const std::string kFlag = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL";

TEST_CASE("chips_without_a_fused_kernel_have_none_in_any_version") {
  for (const char* gfx : {"gfx1010", "gfx1030", "gfx1031", "gfx1032", "gfx1036", "gfx906", "gfx908", "gfx900", ""}) {
    CAPTURE(gfx);
    for (const Version& version : {Version{2, 5, 1}, Version{2, 9}, Version{2, 13}, Version{2, 14}})
      CHECK(fused_attention(gfx, version).largest_head == 0);
  }
}

TEST_CASE("each_version_of_libtorch_knows_its_chips") {
  struct Row {
    const char* gfx;
    Version version;
    int64_t largest;
    bool needs_flag;
  };
  for (const Row& row :
       {Row{"gfx90a", {2, 5}, 256, false}, Row{"gfx1100", {2, 6}, 256, true}, Row{"gfx1100", {2, 7}, 512, false},
        Row{"gfx1201", {2, 7}, 512, true}, Row{"gfx1201", {2, 8}, 512, false}, Row{"gfx1101", {2, 7, 1}, 0, false},
        Row{"gfx1101", {2, 8}, 512, true}, Row{"gfx1102", {2, 8}, 0, false}, Row{"gfx1102", {2, 9}, 256, true},
        Row{"gfx1100", {2, 9}, 256, true}, Row{"gfx1103", {2, 9}, 0, false}, Row{"gfx1103", {2, 10}, 256, true},
        Row{"gfx1152", {2, 10}, 0, false}, Row{"gfx1152", {2, 11}, 256, true}, Row{"gfx1151", {2, 11}, 256, true},
        Row{"gfx1151", {2, 12}, 512, false}, Row{"gfx1200", {2, 13}, 512, true}, Row{"gfx950", {2, 13}, 512, false},
        Row{"gfx942", {2, 4}, 0, false}}) {
    CAPTURE(row.gfx);
    CAPTURE(version_text(row.version));
    const FusedAttention fused = fused_attention(row.gfx, row.version);
    CHECK(fused.largest_head == row.largest);
    CHECK(fused.needs_flag == row.needs_flag);
  }
}

TEST_CASE("the_newest_row_agrees_with_what_doctor_says_of_a_chip") {
  for (const char* gfx : {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150",
                          "gfx1151", "gfx1152", "gfx1153", "gfx1200", "gfx1201", "gfx1030", "gfx908"}) {
    CAPTURE(gfx);
    const FusedAttention fused = fused_attention(gfx, {2, 13});
    const std::string text = fused.largest_head == 0 ? "math-only" : fused.needs_flag ? "fused-with-flag" : "fused";
    CHECK(attention_of_gfx(gfx) == text);
  }
}

TEST_CASE("the_kernel_for_the_device_that_trains") {
  const CardSpec old{.device = 0x73bf, .revision = 0xc1, .target_version = 100300, .vram_bytes = 16 * kGib, .bus = 9};
  const CardSpec flagged{
      .device = 0x7480, .revision = 0xcf, .target_version = 110002, .vram_bytes = 8 * kGib, .bus = 5};
  Sources sources = made_machine({old, flagged, CardSpec{}});
  const auto advice = [&](int64_t index) {
    const Machine machine = detect(sources);
    return advise_attention(machine, gpu_of_device(machine, sources, index));
  };
  CHECK(advice(0).largest_fused_head == 0);
  CHECK(advice(0).text.find("no fused kernel for gfx1030") != std::string::npos);
  CHECK(advice(1).largest_fused_head == 0);
  CHECK(advice(1).text.find(kFlag) != std::string::npos);
  CHECK(advice(2).largest_fused_head == 512);
  CHECK(advice(3).largest_fused_head == 0);  // no such device: what it is cannot be known
  sources.environment[kFlag] = "1";
  CHECK(advice(1).largest_fused_head == 512);
  sources.environment["ROCR_VISIBLE_DEVICES"] = "2,0";
  CHECK(advice(0).largest_fused_head == 512);
  CHECK(advice(1).largest_fused_head == 0);
  sources.environment["HIP_VISIBLE_DEVICES"] = "1";
  CHECK(advice(0).largest_fused_head == 0);
  CHECK(advice(0).text.find("gfx1030") != std::string::npos);
}

TEST_CASE("an_override_counts_as_the_chip_that_it_names") {
  Sources sources = made_machine({CardSpec{.device = 0x7480, .revision = 0xcf, .target_version = 110002}});
  sources.environment["HSA_OVERRIDE_GFX_VERSION"] = "11.0.0";
  const Machine machine = detect(sources);
  CHECK(advise_attention(machine, gpu_of_device(machine, sources, 0)).largest_fused_head == 512);
}

TEST_CASE("on_nvidia_libtorchs_own_kernels_are_taken") {
  const Sources sources = fixture("nvidia-rtx4090");
  const Machine machine = detect(sources);
  const Gpu* gpu = gpu_of_device(machine, sources, 0);
  REQUIRE(gpu != nullptr);
  CHECK(gpu->vendor == "nvidia");
  CHECK(advise_attention(machine, gpu).largest_fused_head > 1 << 20);
}

}  // namespace

}  // namespace cinnabar::hardware
