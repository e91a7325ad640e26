#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/report.h"
#include "cinnabar/hardware/rules.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

using nlohmann::json;

// The order of warnings does not matter.
json sorted(json report) {
  std::vector<json> warnings = report["warnings"].get<std::vector<json>>();
  std::sort(warnings.begin(), warnings.end(), [](const json& a, const json& b) { return a.dump() < b.dump(); });
  report["warnings"] = warnings;
  return report;
}

TEST_CASE("every_recorded_machine_is_reported_as_expected") {
  REQUIRE(fixture_names().size() >= 19);
  for (const std::string& name : fixture_names()) {
    CAPTURE(name);
    std::ifstream file(fixture_folder() / name / "expected.json");
    const json expected = sorted(json::parse(file));
    const json report = sorted(json::parse(report_json(detect(fixture(name)))));
    CHECK(report == expected);
  }
}

TEST_CASE("the_invariants_hold_for_every_recorded_machine") {
  for (const std::string& name : fixture_names()) {
    CAPTURE(name);
    CHECK(broken_invariant(detect(fixture(name))) == "");
  }
}

TEST_CASE("only_machines_whose_gpu_cannot_be_used_are_blocked") {
  for (const std::string& name : fixture_names()) {
    CAPTURE(name);
    const bool is_expected = name == "container-no-devices" || name == "kfd-permission-denied" ||
                             name == "rx6700xt-no-override" || name == "rx7900xt-no-driver";
    CHECK(is_blocked(detect(fixture(name))) == is_expected);
  }
}

TEST_CASE("the_text_says_which_attention_the_engine_will_take") {
  const auto says = [](const char* name, const char* words) {
    return report_text(detect(fixture(name))).find(words) != std::string::npos;
  };
  // The engine sets the switch that this chip needs.
  CHECK(says("rx7600-rocm641", "Attention   fused for heads up to"));
  CHECK(says("rx6800xt-sysfs-only", "Attention   attention in pieces: libtorch"));
  CHECK(says("nvidia-rtx4090", "Attention   libtorch's own"));
  CHECK_FALSE(says("no-gpu", "Attention  "));
}

TEST_CASE("the_text_names_the_card_that_trains_and_what_to_do") {
  const std::string first = report_text(detect(fixture("rx7800xt-igpu-first")));
  CHECK(first.find("Training runs on GPU 1, AMD Radeon RX 7800 XT, through ROCm.") != std::string::npos);
  CHECK(first.find("ROCR_VISIBLE_DEVICES=1") != std::string::npos);
  const std::string refused = report_text(detect(fixture("kfd-permission-denied")));
  CHECK(refused.find("sudo usermod -aG render,video $USER") != std::string::npos);
  CHECK(refused.find("A GPU is here and cannot be used") != std::string::npos);
  const std::string missing = report_text(detect(fixture("rx6700xt-no-override")));
  CHECK(missing.find("export HSA_OVERRIDE_GFX_VERSION=10.3.0") != std::string::npos);
  CHECK(report_text(detect(fixture("no-gpu"))).find("Training runs on the processor.") != std::string::npos);
  const std::string container = report_text(detect(fixture("container-no-devices")));
  CHECK(container.find("--device=/dev/kfd --device=/dev/dri --group-add=video --group-add=render") !=
        std::string::npos);
}

}  // namespace

}  // namespace cinnabar::hardware
