#include "cinnabar/hardware/setup_plan.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

TEST_CASE("the_build_fits_the_recorded_machine") {
  for (const std::string& name : fixture_names()) {
    CAPTURE(name);
    const SetupPlan plan = plan_setup(fixture(name), std::nullopt);
    const std::string expected = name == "no-gpu" ? "cpu" : name == "nvidia-rtx4090" ? "cuda" : "rocm";
    CHECK(plan.build == expected);
    CHECK(plan.version == (expected == "cpu" ? "2.13.0+cpu" : expected == "cuda" ? "2.13.0+cu130" : "2.13.0+rocm7.2"));
    CHECK_FALSE(plan.download.empty());
    CHECK_FALSE(plan.reason.empty());
    CHECK_FALSE(plan.sources.empty());
    CHECK(plan.environment.empty() == (expected == "cpu"));
    const bool is_related = name.starts_with("rx6700xt") || name.starts_with("rx6600xt");
    CHECK(plan.is_covered == !is_related);
    CHECK(nlohmann::json::accept(plan_json(plan)));
    CHECK(plan_text(plan).find(plan.version) != std::string::npos);
  }
}

TEST_CASE("what_stands_in_the_way_is_told_before") {
  CHECK(warns_of(plan_setup(fixture("rx6700xt-no-override"), std::nullopt), "HSA_OVERRIDE_GFX_VERSION=10.3.0"));
  CHECK(warns_of(plan_setup(fixture("mi250-2gcd"), std::nullopt), "amdgpu 6.10.5 is older than 6.12"));
  CHECK(warns_of(plan_setup(fixture("kfd-permission-denied"), std::nullopt), "usermod -aG render,video"));
  CHECK(warns_of(plan_setup(fixture("container-no-devices"), std::nullopt), "--device=/dev/kfd"));
  CHECK(warns_of(plan_setup(fixture("rx7900xt-no-driver"), std::nullopt), "Linux 5.15.0-25-generic is older"));
  CHECK(warns_of(plan_setup(fixture("wsl-rx7900xt"), std::nullopt), "WSL 2"));
  CHECK(plan_setup(fixture("rx6800xt-sysfs-only"), std::nullopt).sources.front().address.ends_with("/rocm7.2"));
}

TEST_CASE("a_chip_that_no_build_runs_on_keeps_the_processor") {
  const CardSpec old{.device = 0x67df, .revision = 0xe7, .target_version = 80003, .vram_bytes = 8 * kGib};
  const SetupPlan plan = plan_setup(made_machine({old}), std::nullopt);
  CHECK(plan.build == "cpu");
  CHECK_FALSE(plan.is_covered);
  CHECK(warns_of(plan, "gfx803"));
  CHECK(warns_of(plan, "No public build has kernels for it"));
}

TEST_CASE("a_small_integrated_gpu_is_no_reason_for_a_large_download") {
  const CardSpec integrated{.device = 0x164e,
                            .target_version = 100306,
                            .vram_bytes = kGib / 2,
                            .gtt_bytes = 32 * kGib,
                            .compute_units = 2,
                            .bus = 0x17};
  CHECK(plan_setup(made_machine({integrated}), std::nullopt).build == "cpu");
  CHECK(plan_setup(made_machine({integrated, {}}), std::nullopt).build == "rocm");
}

TEST_CASE("the_users_choice_wins_and_is_judged") {
  const SetupPlan wrong = plan_setup(fixture("rx7600-rocm641"), "cuda");
  CHECK(wrong.build == "cuda");
  CHECK(warns_of(wrong, "No NVIDIA GPU was found"));
  const SetupPlan plain = plan_setup(fixture("rx7600-rocm641"), "cpu");
  CHECK(plain.version == "2.13.0+cpu");
  CHECK(warns_of(plain, "AMD Radeon RX 7600 is here and will not be used"));
  CHECK(plan_setup(fixture("no-gpu"), "rocm").build == "rocm");
}

TEST_CASE("old_nvidia_cards_get_an_older_cuda") {
  Sources sources = fixture("nvidia-rtx4090");
  for (auto& [line, result] : sources.commands) {
    const size_t at = result.output.find("8.9");
    if (at != std::string::npos) result.output.replace(at, 3, "6.1");
  }
  const SetupPlan plan = plan_setup(sources, std::nullopt);
  CHECK(plan.version == "2.13.0+cu126");
  CHECK(plan.sources.front().address.ends_with("/cu126"));
  CHECK(plan.is_covered);
}

}  // namespace

}  // namespace cinnabar::hardware
