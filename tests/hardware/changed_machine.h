// Machines made up for a test: cards written as the kernel's files, and recorded ones with something changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cinnabar/hardware/machine.h"
#include "cinnabar/hardware/setup_plan.h"
#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

constexpr int64_t kGib = int64_t{1} << 30;

struct CardSpec {
  int64_t device = 0x744c;
  int64_t revision = 0xc8;
  int64_t target_version = 110000;  // as the compute driver writes it
  int64_t vram_bytes = 24 * kGib;
  int64_t used_bytes = 0;
  int64_t gtt_bytes = 16 * kGib;
  int64_t compute_units = 96;
  int64_t bus = 3;                // of the PCI address; unique in a machine
  std::string driver = "amdgpu";  // "": none, and no node of the compute driver
};

// An RX 7900 XTX, an RX 7600 and the graphics of a Ryzen 7000.
inline const CardSpec kXtx{};
inline const CardSpec kSmall{.device = 0x7480,
                             .revision = 0xcf,
                             .target_version = 110002,
                             .vram_bytes = 8 * kGib,
                             .compute_units = 32,
                             .bus = 0x0b};
inline const CardSpec kIntegrated{.device = 0x164e,
                                  .revision = 0xc9,
                                  .target_version = 100306,
                                  .vram_bytes = kGib / 2,
                                  .gtt_bytes = 32 * kGib,
                                  .compute_units = 2,
                                  .bus = 0x17};

// The chips of public wheels of ROCm 7.2.
std::vector<std::string> usual_archs();

using Files = std::map<std::string, std::string>;

// A machine with these cards, in the order of the compute driver, all device files open, no tools, ROCm libtorch. Its
// files are `files`, or those of made_files().
Files made_files(const std::vector<CardSpec>& cards);
Sources made_machine(const std::vector<CardSpec>& cards);
Sources made_machine(const std::vector<CardSpec>& cards, const Files& files);

std::filesystem::path fixture_folder();
std::vector<std::string> fixture_names();
Sources fixture(const std::string& name);

bool has_warning(const Machine& machine, const std::string& code);
const Warning* find_warning(const Machine& machine, const std::string& code);
bool warns_of(const SetupPlan& plan, const std::string& words);

// What holds for every machine, whatever it is; returns what does not, "" when all does.
std::string broken_invariant(const Machine& machine);

}  // namespace cinnabar::hardware
