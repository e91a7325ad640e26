#include <doctest/doctest.h>

#include "cinnabar/hardware/rocminfo.h"
#include "cinnabar/hardware/smi.h"

namespace cinnabar::hardware {

namespace {

Sources with(const char* line, const std::string& output, int exit = 0) {
  Sources sources;
  sources.commands[line] = {.output = output, .exit = exit};
  return sources;
}

TEST_CASE("rocminfo_says_why_it_failed") {
  using State = Rocminfo::State;
  const auto state = [](const std::string& text, int exit) { return parse_rocminfo({text, exit}).state; };
  CHECK(state("", 127) == State::Missing);
  CHECK(state("\x1b[31mROCk module is NOT loaded, possibly no GPU devices\x1b[0m\n", 1) == State::NoDriver);
  CHECK(state("ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n", 1) == State::NoAccess);
  CHECK(state("hsa api call failure at: rocminfo.cc:1306\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: x\n", 8) ==
        State::InitFailed);
  CHECK(state("Segmentation fault", 139) == State::Invalid);
  CHECK(state("*******\nAgent 1\n*******\n", 0) == State::Invalid);
  CHECK(state("no agents\n", 0) == State::Invalid);
  CHECK(state("*** Done ***\n", 0) == State::Complete);
}

TEST_CASE("names_of_instruction_sets_are_not_names_of_agents") {
  const std::string text =
      "*******\nAgent 1\n*******\n  Name:                    gfx1102\n  Marketing Name:          A Card\n"
      "  Device Type:             GPU\n  Chip ID:                 29824(0x7480)\n  Node:                    1\n"
      "  Memory Properties:       APU\n  Pool Info:\n    Pool 1\n      Segment:                 GLOBAL; FLAGS: COARSE\n"
      "      Size:                    1024(0x400) KB\n    Pool 2\n      Segment:                 GROUP\n"
      "      Size:                    999999(0x0) KB\n  ISA Info:\n    ISA 1\n"
      "      Name:                    amdgcn-amd-amdhsa--gfx11-generic\n*** Done ***\n";
  const Rocminfo info = parse_rocminfo({text, 0});
  REQUIRE(info.agents.size() == 1);
  CHECK(info.agents[0].name == "gfx1102");
  CHECK(info.agents[0].chip_id == 0x7480);
  CHECK(info.agents[0].memory_bytes == 1024 * 1024);
  CHECK(info.agents[0].is_apu);
}

TEST_CASE("amd_smi_of_both_layouts") {
  const std::string entry =
      R"({"gpu": 0, "bus": {"bdf": "0000:0B:00.0"}, "asic": {"market_name": "A Card", "target_graphics_version": "gfx11002",
          "num_compute_units": "N/A"}, "vram": {"size": {"value": 8176, "unit": "MB"}}})";
  for (const std::string& text :
       {"[" + entry + "]", R"({"gpu_data": [)" + entry + "]}", "WARNING: low-power state\n\n[" + entry + "]"}) {
    const SmiReport report = read_amd_smi(with(command_line::kAmdSmiStatic, text));
    REQUIRE(report.gpus.size() == 1);
    CHECK_FALSE(report.is_invalid);
    CHECK(report.gpus[0].bdf == "0000:0b:00.0");
    CHECK(report.gpus[0].gfx == "gfx1102");
    CHECK(report.gpus[0].vram_bytes == int64_t{8176} << 20);
    CHECK_FALSE(report.gpus[0].compute_units.has_value());
  }
}

TEST_CASE("amd_smi_that_cannot_be_read_is_told") {
  CHECK_FALSE(read_amd_smi(Sources{}).is_installed);
  for (const char* text : {"", "[{\"gpu\": 0,", "text", "{\"error\": 1}"})
    CHECK(read_amd_smi(with(command_line::kAmdSmiStatic, text)).is_invalid);
  CHECK(read_amd_smi(with(command_line::kAmdSmiMetric, "[]", 1)).is_invalid);
  // Wrong types in it are unknown values, no reason to fail.
  const SmiReport odd =
      read_amd_smi(with(command_line::kAmdSmiMetric, R"([{"gpu": 0, "power": [], "usage": 5}, 7, null])"));
  CHECK_FALSE(odd.is_invalid);
  CHECK(odd.gpus.size() == 1);
}

TEST_CASE("rocm_smi_values_are_texts") {
  const char* text = R"json(WARNING: asleep

{"card0": {"Temperature (Sensor junction) (C)": "42.0", "Current Socket Graphics Package Power (W)": "88.5",
 "VRAM Total Memory (B)": "8573157376", "Card Series": "N/A", "GUID": "11816", "GPU use (%)": "3"}, "system": {"x": "y"}})json";
  const SmiReport report = read_rocm_smi(with(command_line::kRocmSmi, text));
  REQUIRE(report.gpus.size() == 1);
  CHECK(report.gpus[0].temperature_c == 42.0);
  CHECK(report.gpus[0].power_w == 88.5);
  CHECK(report.gpus[0].vram_bytes == 8573157376);
  CHECK(report.gpus[0].gpu_id == 11816);
  CHECK(report.gpus[0].name.empty());
  CHECK(read_rocm_smi(with(command_line::kRocmSmi, "{\"card0\"", 0)).is_invalid);
}

TEST_CASE("nvidia_smi_reads_columns_by_their_titles") {
  const char* text =
      "name, index, pci.bus_id, memory.total [MiB], power.draw [W], compute_cap\n"
      "A Card, 1, 00000000:4A:00.0, 24564 MiB, [Not Supported], 8.9\n\n";
  const SmiReport report = read_nvidia_smi(with("nvidia-smi", text));
  REQUIRE(report.gpus.size() == 1);
  CHECK(report.gpus[0].bdf == "0000:4a:00.0");
  CHECK(report.gpus[0].index == 1);
  CHECK(report.gpus[0].vram_bytes == int64_t{24564} << 20);
  CHECK(report.gpus[0].compute_capability == "8.9");
  CHECK_FALSE(report.gpus[0].power_w.has_value());
  CHECK(read_nvidia_smi(with("nvidia-smi", "NVIDIA-SMI has failed because it couldn't communicate\n", 9)).is_invalid);
}

TEST_CASE("the_longest_beginning_of_a_command_line_answers") {
  Sources sources;
  sources.commands["amd-smi"] = {.output = "", .exit = 127};
  sources.commands["amd-smi static"] = {.output = "yes", .exit = 0};
  CHECK(sources.run("amd-smi static --json").output == "yes");
  CHECK_FALSE(sources.run("amd-smi list --json").is_installed());
  CHECK_FALSE(sources.run("rocminfo").is_installed());
}

}  // namespace

}  // namespace cinnabar::hardware
