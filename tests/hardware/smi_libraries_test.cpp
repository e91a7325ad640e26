#include "cinnabar/hardware/smi_libraries.h"

#include <doctest/doctest.h>

#include "cinnabar/hardware/smi.h"

namespace cinnabar::hardware {

namespace {

const std::string kFakeLibrary = std::string(CINNABAR_BIN_DIR) + "/cinnabar_fake_smi.so";

Sources answering(const char* line, const std::string& text) {
  Sources sources;
  sources.commands[line] = {.output = text, .exit = 0};
  return sources;
}

TEST_CASE("nvml_answers_as_its_tool_would") {
  const SmiReport report = read_nvidia_smi(answering(command_line::kNvidiaSmi, nvml_text(kFakeLibrary)));
  REQUIRE(report.gpus.size() == 1);
  CHECK(report.gpus[0].name == "A Fake Card");
  CHECK(report.gpus[0].bdf == "0000:01:00.0");
  CHECK(report.gpus[0].vram_bytes == int64_t{24} << 30);
  CHECK(report.gpus[0].vram_used_bytes == int64_t{1} << 30);
  CHECK(report.gpus[0].compute_capability == "8.9");
  CHECK(report.gpus[0].temperature_c == 43.0);
  CHECK_FALSE(report.gpus[0].power_w.has_value());
}

TEST_CASE("amd_smi_answers_as_its_tool_would") {
  const SmiReport report = read_amd_smi(answering("amd-smi", amd_smi_text(kFakeLibrary)));
  REQUIRE(report.gpus.size() == 1);
  CHECK(report.gpus[0].bdf == "0000:0b:00.0");
  CHECK(report.gpus[0].vram_bytes == 8573157376);
  CHECK(report.gpus[0].vram_used_bytes == 611319808);
  CHECK(report.gpus[0].temperature_c == 41.0);
}

TEST_CASE("rocm_smi_answers_as_its_tool_would") {
  const SmiReport report = read_rocm_smi(answering(command_line::kRocmSmi, rocm_smi_text(kFakeLibrary)));
  REQUIRE(report.gpus.size() == 1);
  CHECK(report.gpus[0].bdf == "0000:0b:00.0");
  CHECK(report.gpus[0].name == "A Fake Radeon");
  CHECK(report.gpus[0].temperature_c == 42.5);
  CHECK(report.gpus[0].power_w == 9.0);
  CHECK_FALSE(report.gpus[0].vram_used_bytes.has_value());
}

TEST_CASE("a_library_that_is_not_there_says_nothing") {
  for (auto* text : {&nvml_text, &amd_smi_text, &rocm_smi_text}) CHECK(text("surely-no-such-library.so").empty());
}

}  // namespace

}  // namespace cinnabar::hardware
