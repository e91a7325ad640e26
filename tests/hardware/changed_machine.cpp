#include "hardware/changed_machine.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cinnabar/hardware/problem_text.h"
#include "cinnabar/hardware/recording.h"
#include "cinnabar/hardware/report.h"

namespace cinnabar::hardware {

namespace fs = std::filesystem;

namespace {

std::string hex(int64_t value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%04x", static_cast<unsigned>(value));
  return text.data();
}

std::string address(int64_t bus) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0000:%02x:00.0", static_cast<unsigned>(bus));
  return text.data();
}

std::string uevent(const CardSpec& card) {
  const std::string driver = card.driver.empty() ? "" : "DRIVER=" + card.driver + "\n";
  return driver + "PCI_SLOT_NAME=" + address(card.bus) + "\n";
}

void put_ids(Files& files, const std::string& base, const CardSpec& card) {
  files[base + "/vendor"] = "0x1002\n";
  files[base + "/class"] = "0x030000\n";
  files[base + "/device"] = hex(card.device) + "\n";
  files[base + "/revision"] = hex(card.revision) + "\n";
  files[base + "/uevent"] = uevent(card);
}

void put_card(Files& files, const CardSpec& card, size_t number) {
  const std::string base = "/sys/class/drm/card" + std::to_string(number) + "/device";
  put_ids(files, base, card);
  files[base + "/mem_info_vram_total"] = std::to_string(card.vram_bytes);
  files[base + "/mem_info_vram_used"] = std::to_string(card.used_bytes);
  files[base + "/mem_info_vis_vram_total"] = std::to_string(card.vram_bytes);
  files[base + "/mem_info_gtt_total"] = std::to_string(card.gtt_bytes);
}

void put_node(Files& files, const CardSpec& card, size_t node, size_t minor) {
  const std::string base = "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(node);
  files[base + "/gpu_id"] = std::to_string(1000 + node);
  files[base + "/properties"] = "simd_count " + std::to_string(card.compute_units * 2) + "\nsimd_per_cu 2\n" +
                                "wave_front_size 32\ngfx_target_version " + std::to_string(card.target_version) +
                                "\nvendor_id 4098\ndevice_id " + std::to_string(card.device) + "\nlocation_id " +
                                std::to_string(card.bus << 8) + "\ndomain 0\ndrm_render_minor " +
                                std::to_string(minor) + "\nunique_id 16782140478693590272\n";
}

}  // namespace

std::vector<std::string> usual_archs() {
  return {"gfx900",  "gfx906",  "gfx908",  "gfx90a",  "gfx942",  "gfx950",  "gfx1030", "gfx1100",
          "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201"};
}

Files made_files(const std::vector<CardSpec>& cards) {
  Files files = {{"/sys/module/amdgpu/initstate", "live\n"},
                 {"/proc/cmdline", "quiet iommu=pt\n"},
                 {"/proc/sys/kernel/osrelease", "6.18.6-generic\n"},
                 {"/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n"}};
  for (size_t i = 0; i < cards.size(); ++i) {
    put_ids(files, "/sys/bus/pci/devices/" + address(cards[i].bus), cards[i]);
    if (cards[i].driver != "amdgpu") continue;
    // Card numbers run against the order of the compute driver.
    put_card(files, cards[i], cards.size() - i);
    put_node(files, cards[i], i + 1, 128 + i);
  }
  return files;
}

Sources made_machine(const std::vector<CardSpec>& cards) { return made_machine(cards, made_files(cards)); }

Sources made_machine(const std::vector<CardSpec>& cards, const Files& files) {
  Sources sources;
  sources.files = FileTree(files);
  sources.devices["/dev/kfd"] = {.exists = true, .group = "render", .mode = "0660", .open_result = "ok"};
  for (size_t i = 0; i < cards.size(); ++i)
    sources.devices["/dev/dri/renderD" + std::to_string(128 + i)] = sources.devices["/dev/kfd"];
  sources.libtorch = {.is_present = true, .version = "2.13.0", .hip = "7.2", .arch_list = usual_archs()};
  return sources;
}

fs::path fixture_folder() { return fs::path(CINNABAR_TESTS_DIR) / "hardware" / "fixtures"; }

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fixture_folder())) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Sources fixture(const std::string& name) { return load_recording(fixture_folder() / name); }

const Warning* find_warning(const Machine& machine, const std::string& code) {
  const auto found = std::find_if(machine.warnings.begin(), machine.warnings.end(),
                                  [&](const Warning& warning) { return warning.code == code; });
  return found == machine.warnings.end() ? nullptr : &*found;
}

bool has_warning(const Machine& machine, const std::string& code) { return find_warning(machine, code) != nullptr; }

bool warns_of(const SetupPlan& plan, const std::string& words) {
  for (const std::string& warning : plan.warnings) {
    if (warning.find(words) != std::string::npos) return true;
  }
  return false;
}

std::string broken_invariant(const Machine& machine) {
  const auto count = static_cast<int>(machine.gpus.size());
  if (machine.default_gpu) {
    if (*machine.default_gpu < 0 || *machine.default_gpu >= count) return "the default GPU does not exist";
    const Gpu& chosen = machine.gpus[static_cast<size_t>(*machine.default_gpu)];
    if (!chosen.is_usable) return "the default GPU cannot be used";
    for (const Gpu& gpu : machine.gpus) {
      if (chosen.is_integrated && gpu.is_usable && !gpu.is_integrated) return "an integrated GPU was preferred";
    }
  }
  if ((machine.backend == "cpu") != !machine.default_gpu.has_value()) return "backend and default GPU disagree";
  bool is_amd_seen = false;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.vendor == "amd") is_amd_seen = true;
    if (gpu.vendor != "amd" && is_amd_seen) return "an AMD GPU stands before another";
    if (gpu.name.empty() || gpu.sdpa.empty()) return "a GPU without name or attention";
    for (const auto& number : {gpu.vram_bytes, gpu.compute_units, gpu.wave_size}) {
      if (number && *number <= 0) return "a number that is unknown is 0";
    }
  }
  const std::vector<std::string> codes = problem_codes();
  for (const Warning& warning : machine.warnings) {
    if (warning.gpu && (*warning.gpu < 0 || *warning.gpu >= count)) return warning.code + " speaks of no GPU";
    if (std::find(codes.begin(), codes.end(), warning.code) == codes.end()) return warning.code + " has no words";
    const ProblemText text = problem_text(machine, warning);
    if (text.cause.empty()) return warning.code + " has no cause";
    if (text.remedy.empty() && warning.severity == "error") return warning.code + " has no remedy";
  }
  const Recommendation& advice = machine.recommendation;
  if (advice.batch_size < 1 || advice.gradient_accumulation < 1) return "a batch of nothing";
  if (advice.effective_compute_precision == "fp8") return "computation in fp8";
  if (!nlohmann::json::accept(report_json(machine, true))) return "the report is no JSON";
  if (report_text(machine).find("System") != 0) return "the text has no begin";
  return {};
}

}  // namespace cinnabar::hardware
