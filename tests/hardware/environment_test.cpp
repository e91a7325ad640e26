#include "cinnabar/hardware/environment.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/hardware/detect.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

const EnvironmentSetting* find(const std::vector<EnvironmentSetting>& settings, const std::string& name) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const EnvironmentSetting& one) { return one.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

TEST_CASE("safe_values_each_with_a_reason") {
  const auto settings = environment_settings(detect(fixture("rx7800xt-igpu-first")), "/cache");
  for (const char* name : {"MIOPEN_FIND_MODE", "MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR", "MIOPEN_LOG_LEVEL",
                           "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "ROCR_VISIBLE_DEVICES"}) {
    CAPTURE(name);
    REQUIRE(find(settings, name) != nullptr);
    CHECK_FALSE(find(settings, name)->reason.empty());
  }
  CHECK(find(settings, "MIOPEN_FIND_MODE")->value == "2");
  CHECK(find(settings, "MIOPEN_USER_DB_PATH")->value == "/cache/miopen-6.4/db");
  CHECK(find(settings, "ROCR_VISIBLE_DEVICES")->value == "1");
}

TEST_CASE("only_what_the_chip_needs") {
  const auto instinct = environment_settings(detect(fixture("mi300x-x8")), "/cache");
  CHECK(find(instinct, "MIOPEN_FIND_MODE") == nullptr);
  CHECK(find(instinct, "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL") == nullptr);
  CHECK(find(environment_settings(detect(fixture("rx6800xt-sysfs-only")), "/cache"),
             "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL") == nullptr);
  CHECK(environment_settings(detect(fixture("no-gpu")), "/cache").empty());
  CHECK(find(environment_settings(detect(fixture("nvidia-rtx4090")), "/cache"), "CUDA_DEVICE_ORDER") != nullptr);
}

TEST_CASE("the_users_values_stay") {
  Sources sources = fixture("rx7600-rocm641");
  sources.environment["MIOPEN_FIND_MODE"] = "5";
  sources.environment["ROCBLAS_TENSILE_LIBPATH"] = "/opt/other";
  const auto settings = environment_settings(detect(sources), "/cache");
  CHECK(find(settings, "MIOPEN_FIND_MODE")->is_users);
  CHECK(find(settings, "MIOPEN_FIND_MODE")->value == "5");
  // But kernels of another library are taken out.
  REQUIRE(find(settings, "ROCBLAS_TENSILE_LIBPATH") != nullptr);
  CHECK_FALSE(find(settings, "ROCBLAS_TENSILE_LIBPATH")->value.has_value());
}

TEST_CASE("several_processes_keep_all_discrete_cards") {
  const CardSpec integrated{.device = 0x164e,
                            .target_version = 100306,
                            .vram_bytes = kGib / 2,
                            .gtt_bytes = 32 * kGib,
                            .compute_units = 2,
                            .bus = 0x17};
  const CardSpec second{.bus = 0x20};
  Sources sources = made_machine({integrated, {}, second});
  CHECK(find(environment_settings(detect(sources), "/c"), "ROCR_VISIBLE_DEVICES")->value == "1");
  sources.environment["WORLD_SIZE"] = "2";
  CHECK(find(environment_settings(detect(sources), "/c"), "ROCR_VISIBLE_DEVICES")->value == "1,2");
}

}  // namespace

}  // namespace cinnabar::hardware
