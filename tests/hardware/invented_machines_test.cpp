// Machines that no recording shows: what doctor says of them must be right all the same.
#include <doctest/doctest.h>

#include "cinnabar/hardware/attention_support.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/environment.h"
#include "cinnabar/hardware/report.h"
#include "cinnabar/hardware/rules.h"
#include "cinnabar/hardware/setup_plan.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

const CardSpec kRdna4{.device = 0x7550, .revision = 0xc0, .target_version = 120001, .vram_bytes = 16 * kGib};

const std::string kNvidiaLine =
    "index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], memory.used [MiB], utilization.gpu [%], "
    "temperature.gpu, power.draw [W], compute_cap\n"
    "0, NVIDIA GeForce RTX 4070 Laptop GPU, GPU-0, 00000000:01:00.0, 580.1, 8188 MiB, 12 MiB, 0 %, 41, 3.1 W, 8.9\n";

Machine detected(const Sources& sources) {
  const Machine machine = detect(sources);
  CHECK(broken_invariant(machine) == "");
  return machine;
}

bool says(const Machine& machine, const std::string& words) {
  return report_text(machine).find(words) != std::string::npos;
}

void remove_below(Files& files, const std::string& folder) {
  std::erase_if(files, [&](const auto& file) { return file.first.starts_with(folder); });
}

TEST_CASE("two_cards_of_different_kind_and_an_integrated_gpu_before_both") {
  Files files = made_files({kIntegrated, kSmall, kXtx});
  files["/proc/cmdline"] = "quiet splash";
  const Machine machine = detected(made_machine({kIntegrated, kSmall, kXtx}, files));
  REQUIRE(machine.gpus.size() == 3);
  CHECK(machine.default_gpu == 2);
  CHECK(machine.visible_devices_env.at("ROCR_VISIBLE_DEVICES") == "2");
  CHECK(find_warning(machine, "INTEGRATED_GPU_FIRST")->gpu == 0);
  CHECK(has_warning(machine, "MULTI_GPU_IOMMU_NOT_PT"));
  CHECK(find_warning(machine, "ATTENTION_NEEDS_EXPERIMENTAL_FLAG")->gpu == 1);
  // An integrated GPU beside cards is not judged by its abilities.
  CHECK_FALSE(has_warning(machine, "ATTENTION_MATH_ONLY"));
  CHECK_FALSE(is_blocked(machine));
  CHECK(says(machine, "Training runs on GPU 2, AMD Radeon RX 7900 XTX, through ROCm."));
  Sources launched = made_machine({kIntegrated, kSmall, kXtx}, files);
  launched.environment["WORLD_SIZE"] = "2";
  const Machine several = detected(launched);
  for (const EnvironmentSetting& setting : environment_settings(several, "/cache")) {
    if (setting.name == "ROCR_VISIBLE_DEVICES") CHECK(setting.value == "2,1");
  }
}

TEST_CASE("an_old_kernel_without_the_compute_driver") {
  Files files = made_files({kXtx});
  remove_below(files, "/sys/class/kfd/");
  files["/proc/sys/kernel/osrelease"] = "5.15.0-107-generic\n";
  Sources sources = made_machine({kXtx}, files);
  sources.devices.erase("/dev/kfd");
  const Machine machine = detected(sources);
  REQUIRE(machine.gpus.size() == 1);
  CHECK(machine.gpus[0].name == "AMD Radeon RX 7900 XTX");
  CHECK(machine.gpus[0].gfx == "gfx1100");
  CHECK(machine.gpus[0].vram_bytes == 24 * kGib);
  CHECK(machine.backend == "cpu");
  CHECK(find_warning(machine, "KFD_MISSING")->severity == "error");
  CHECK(find_warning(machine, "KFD_MISSING")->fix_docker_args.empty());
  CHECK(is_blocked(machine));
  CHECK(says(machine, "CONFIG_HSA_AMD"));
  const SetupPlan plan = plan_setup(sources, std::nullopt);
  CHECK(plan.build == "rocm");
  CHECK(warns_of(plan, "Linux 5.15.0-107-generic is older"));
}

TEST_CASE("a_container_that_sees_the_host_but_has_no_device_files") {
  Files files = made_files({kXtx});
  files["/.dockerenv"] = "";
  Sources sources = made_machine({kXtx}, files);
  sources.devices.clear();
  const Machine machine = detected(sources);
  CHECK(machine.platform.is_container);
  CHECK(find_warning(machine, "KFD_MISSING")->fix_docker_args.size() == 4);
  CHECK(find_warning(machine, "RENDER_NODE_MISSING")->gpu == 0);
  CHECK(says(machine, "--device=/dev/kfd --device=/dev/dri --group-add=video --group-add=render"));
  CHECK(is_blocked(machine));
  // Half of it: the compute device alone was passed in.
  sources.devices["/dev/kfd"] = {.exists = true, .group = "render", .mode = "0660", .open_result = "ok"};
  const Machine half = detected(sources);
  CHECK_FALSE(has_warning(half, "KFD_MISSING"));
  CHECK(has_warning(half, "RENDER_NODE_MISSING"));
  CHECK(half.backend == "cpu");
  // Passed in, but the group has another number inside.
  sources = made_machine({kXtx}, files);
  for (auto& [path, node] : sources.devices) node.open_result = "EACCES", node.group = "109";
  const Machine refused = detected(sources);
  CHECK(find_warning(refused, "KFD_PERMISSION_DENIED")->fix_group == "109");
  CHECK(says(refused, "--group-add 109"));
}

TEST_CASE("windows_subsystem_with_a_card_that_the_runtime_does_not_show") {
  Files files = {{"/proc/sys/kernel/osrelease", "6.6.87.2-microsoft-standard-WSL2\n"}};
  Sources sources = made_machine({}, files);
  sources.devices = {{"/dev/dxg", {.exists = true, .group = "root", .mode = "0666", .open_result = "ok"}}};
  const Machine machine = detected(sources);
  CHECK(machine.platform.is_wsl);
  CHECK(machine.gpus.empty());
  CHECK(machine.backend == "cpu");
  CHECK(has_warning(machine, "NO_GPU"));
  CHECK(has_warning(machine, "WSL_LIMITED_MONITORING"));
  CHECK_FALSE(has_warning(machine, "AMDGPU_MODULE_NOT_LOADED"));
  // "None" would be wrong here: only ROCm's runtime can see a card of AMD through Windows.
  CHECK(says(machine, "rocminfo"));
  const SetupPlan plan = plan_setup(sources, std::nullopt);
  CHECK(plan.build == "cpu");
  CHECK(plan.reason == "no GPU can be seen from WSL 2");
  CHECK(warns_of(plan, "ROCm for WSL"));
}

TEST_CASE("an_instinct_in_partitions_is_as_many_devices_with_their_part_of_the_memory") {
  const CardSpec board{.device = 0x74a1,
                       .revision = 0,
                       .target_version = 90402,
                       .vram_bytes = 192 * kGib,
                       .used_bytes = 100 * kGib,
                       .compute_units = 38,
                       .bus = 0x05};
  for (const bool is_old_kernel : {false, true}) {
    CAPTURE(is_old_kernel);
    Files files = made_files({board});
    const std::string first = "/sys/class/kfd/kfd/topology/nodes/1/";
    const std::string properties = files.at(first + "properties");
    const int64_t location = 0x05 << 8;
    for (int64_t part = 0; part < 4; ++part) {
      const std::string node = "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(part + 1) + "/";
      const int64_t place = is_old_kernel ? location | part : location | part << 28;
      std::string text = properties;
      const auto replace = [&](const std::string& from, const std::string& to) {
        text.replace(text.find(from), from.size(), to);
      };
      replace("location_id " + std::to_string(location), "location_id " + std::to_string(place));
      replace("drm_render_minor 128", "drm_render_minor " + std::to_string(128 + part));
      files[node + "gpu_id"] = std::to_string(5000 + part);
      files[node + "properties"] = text;
      files[node + "mem_banks/0/properties"] =
          "heap_type 1\nsize_in_bytes " + std::to_string(48 * kGib) + "\nflags 0\nwidth 8192\n";
    }
    Sources sources = made_machine({board}, files);
    for (int part = 0; part < 4; ++part)
      sources.devices["/dev/dri/renderD" + std::to_string(128 + part)] = sources.devices["/dev/kfd"];
    const Machine machine = detected(sources);
    REQUIRE(machine.gpus.size() == 4);
    for (const Gpu& gpu : machine.gpus) {
      CHECK(gpu.name == "AMD Instinct MI300X");
      CHECK(gpu.gfx == "gfx942");
      CHECK(gpu.bdf == "0000:05:00.0");
      CHECK(gpu.vram_bytes == 48 * kGib);
      CHECK_FALSE(gpu.vram_used_bytes.has_value());
      CHECK(gpu.compute_units == 38);
      CHECK(gpu.precisions.fp8 == "fnuz");
      CHECK(gpu.is_usable);
    }
    CHECK(machine.default_gpu == 0);
    CHECK_FALSE(has_warning(machine, "LOW_FREE_VRAM"));
    CHECK(machine.recommendation.batch_size == 12);  // of 48 GiB, not of the board
  }
}

TEST_CASE("rdna4_with_a_libtorch_that_is_older_than_the_chip") {
  Sources sources = made_machine({kRdna4});
  sources.libtorch = {.is_present = true,
                      .version = "2.6.0",
                      .hip = "6.2",
                      .arch_list = {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1101"}};
  sources.commands["hipconfig --version"] = {.output = "6.2.41134-65d174c3e\n", .exit = 0};
  const Machine machine = detected(sources);
  CHECK(machine.platform.rocm_version == "6.2.41134");
  REQUIRE(has_warning(machine, "GFX_NOT_IN_LIBTORCH"));
  // Nothing of another generation runs on it.
  CHECK_FALSE(find_warning(machine, "GFX_NOT_IN_LIBTORCH")->suggest_override.has_value());
  CHECK(is_blocked(machine));
  CHECK(says(machine, "Training would be tried on GPU 0, AMD Radeon RX 9070 XT, through ROCm, and fail"));
  CHECK(machine.gpus[0].precisions.fp8 == "ocp");
  const Gpu& gpu = machine.gpus[0];
  CHECK(advise_attention(machine, &gpu).largest_fused_head == 0);
  // 7.9 and 7.14 are later than 7.2, though not as decimals.
  const SetupPlan plan = plan_setup(sources, std::nullopt);
  CHECK(plan.version == "2.13.0+rocm7.2");
  CHECK(plan.is_covered);
}

TEST_CASE("a_laptop_with_an_integrated_gpu_of_amd_and_a_card_of_nvidia") {
  CardSpec radeon = kIntegrated;
  radeon.device = 0x15bf;
  radeon.target_version = 110003;
  radeon.compute_units = 12;
  radeon.gtt_bytes = 14 * kGib;
  Sources sources = made_machine({radeon});
  sources.commands[command_line::kNvidiaSmi] = {.output = kNvidiaLine, .exit = 0};
  sources.libtorch = {
      .is_present = true, .version = "2.13.0", .cuda = "13.0", .arch_list = {"sm_80", "sm_86", "sm_90"}};
  const Machine machine = detected(sources);
  REQUIRE(machine.gpus.size() == 2);
  CHECK(machine.backend == "cuda");
  CHECK(machine.default_gpu == 0);
  CHECK(machine.visible_devices_env.empty());
  CHECK(find_warning(machine, "BACKEND_MISMATCH")->severity == "info");
  CHECK_FALSE(is_blocked(machine));
  CHECK(plan_setup(sources, std::nullopt).build == "cuda");
  // With ROCm's libtorch the processor's graphics would train, and the better card is told.
  sources.libtorch = {.is_present = true, .version = "2.13.0", .hip = "7.2", .arch_list = usual_archs()};
  const Machine other = detected(sources);
  CHECK(other.backend == "rocm");
  CHECK(other.default_gpu == 1);
  CHECK(find_warning(other, "BACKEND_MISMATCH")->gpu == 0);
  // The driver of the card is missing: nouveau holds it.
  Files files = made_files({radeon});
  const std::string card = "/sys/bus/pci/devices/0000:01:00.0/";
  files[card + "vendor"] = "0x10de\n";
  files[card + "class"] = "0x030000\n";
  files[card + "device"] = "0x2820\n";
  files[card + "revision"] = "0xa1\n";
  files[card + "uevent"] = "DRIVER=nouveau\nPCI_SLOT_NAME=0000:01:00.0\n";
  Sources without = made_machine({radeon}, files);
  without.libtorch = {.is_present = true, .version = "2.13.0", .cuda = "13.0"};
  const Machine undriven = detected(without);
  CHECK(find_warning(undriven, "GPU_WITHOUT_DRIVER")->gpu == 0);
  CHECK(says(undriven, "Now bound: nouveau"));
}

TEST_CASE("two_boards_alike_one_of_them_without_its_driver") {
  CardSpec second = kXtx;
  second.bus = 0x23;
  second.driver = "";
  const Machine machine = detected(made_machine({kXtx, second}));
  REQUIRE(machine.gpus.size() == 2);
  CHECK(machine.default_gpu == 0);
  CHECK(find_warning(machine, "GPU_WITHOUT_DRIVER")->gpu == 1);
  CHECK(machine.visible_devices_env.empty());
}

}  // namespace

}  // namespace cinnabar::hardware
