#include <doctest/doctest.h>

#include <random>

#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/rules.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

Machine machine_of(const std::vector<CardSpec>& cards) {
  const Machine machine = detect(made_machine(cards));
  CHECK(broken_invariant(machine) == "");
  return machine;
}

TEST_CASE("every_chip_is_known_without_any_tool") {
  struct Row {
    CardSpec card;
    const char* name;
    const char* gfx;
    const char* source;
    int batch;
    const char* precision;
    int billions;
  };
  const auto card = [](int64_t device, int64_t revision, int64_t target, int64_t memory_gib) {
    return CardSpec{.device = device, .revision = revision, .target_version = target, .vram_bytes = memory_gib * kGib};
  };
  for (const Row& row :
       {Row{card(0x731f, 0xc1, 100100, 8), "AMD Radeon RX 5700 XT", "gfx1010", "tier", 2, "fp16", 7},
        Row{card(0x743f, 0xc1, 100304, 4), "AMD Radeon RX 6500 XT", "gfx1034", "tier", 1, "fp16", 1},
        Row{card(0x73df, 0xff, 100301, 10), "AMD Radeon RX 6700", "gfx1031", "tier", 2, "fp16", 10},
        Row{card(0x73a3, 0x00, 100300, 32), "AMD Radeon Pro W6800", "gfx1030", "tier", 8, "bf16", 34},
        Row{card(0x7480, 0xcf, 110002, 8), "AMD Radeon RX 7600", "gfx1102", "seed-table", 2, "fp16", 7},
        Row{card(0x7480, 0xc0, 110002, 16), "AMD Radeon RX 7600 XT", "gfx1102", "tier", 4, "fp16", 13},
        Row{card(0x747e, 0xff, 110001, 12), "AMD Radeon RX 7700 XT", "gfx1101", "tier", 2, "fp16", 10},
        Row{card(0x744c, 0xce, 110000, 16), "AMD Radeon RX 7900 GRE", "gfx1100", "tier", 4, "fp16", 13},
        Row{card(0x7448, 0x00, 110000, 48), "AMD Radeon Pro W7900", "gfx1100", "tier", 12, "bf16", 50},
        Row{card(0x7590, 0xc0, 120000, 16), "AMD Radeon RX 9060 XT", "gfx1200", "tier", 4, "bf16", 13},
        Row{card(0x7551, 0xc0, 120001, 32), "AMD Radeon AI PRO R9700", "gfx1201", "tier", 8, "bf16", 34},
        Row{card(0x738c, 0x01, 90008, 32), "AMD Instinct MI100", "gfx908", "tier", 8, "bf16", 34},
        Row{card(0x740f, 0x02, 90010, 64), "AMD Instinct MI210", "gfx90a", "tier", 16, "bf16", 70},
        Row{card(0x740c, 0x01, 90010, 64), "AMD Instinct MI250X / MI250", "gfx90a", "seed-table", 16, "fp8", 70},
        Row{card(0x74a5, 0x00, 90402, 256), "AMD Instinct MI325X", "gfx942", "tier", 32, "bf16", 100},
        Row{card(0x75a3, 0x00, 90500, 288), "AMD Instinct MI355X", "gfx950", "tier", 32, "bf16", 100}}) {
    CAPTURE(row.name);
    const Machine machine = machine_of({row.card});
    REQUIRE(machine.gpus.size() == 1);
    CHECK(machine.gpus[0].name == row.name);
    CHECK(machine.gpus[0].gfx == row.gfx);
    CHECK_FALSE(machine.gpus[0].is_integrated);
    CHECK(machine.default_gpu == 0);
    CHECK(machine.recommendation.source == row.source);
    CHECK(machine.recommendation.batch_size == row.batch);
    CHECK(machine.recommendation.preset_precision == row.precision);
    CHECK(machine.recommendation.max_params_billion == row.billions);
    CHECK(has_warning(machine, "GFX_NOT_IN_LIBTORCH") == !covers(usual_archs(), row.gfx));
  }
}

TEST_CASE("the_order_of_cards_changes_the_mask_and_not_the_choice") {
  const Machine first = machine_of({kXtx, kIntegrated});
  CHECK(first.default_gpu == 0);
  CHECK(first.visible_devices_env.at("ROCR_VISIBLE_DEVICES") == "0");
  CHECK(has_warning(first, "INTEGRATED_GPU_PRESENT"));
  const Machine second = machine_of({kIntegrated, kXtx});
  CHECK(second.default_gpu == 1);
  CHECK(second.visible_devices_env.at("ROCR_VISIBLE_DEVICES") == "1");
  CHECK(has_warning(second, "INTEGRATED_GPU_FIRST"));
  for (const Machine& machine : {first, second}) {
    CHECK(machine.gpus[static_cast<size_t>(*machine.default_gpu)].name == "AMD Radeon RX 7900 XTX");
    CHECK_FALSE(is_blocked(machine));
    CHECK_FALSE(has_warning(machine, "BF16_EMULATED"));
  }
  const Machine two = machine_of({kSmall, kXtx});
  CHECK(two.visible_devices_env.at("ROCR_VISIBLE_DEVICES") == "1");
  CHECK(machine_of({kXtx, kSmall}).visible_devices_env.empty());
}

TEST_CASE("the_card_with_most_free_memory_is_taken") {
  CardSpec busy = kXtx;
  busy.used_bytes = 20 * kGib;
  const Machine machine = machine_of({busy, kSmall});
  CHECK(machine.default_gpu == 1);
  CHECK(has_warning(machine, "LOW_FREE_VRAM"));
  CardSpec twin = kXtx;
  twin.bus = 0x20;
  CHECK(machine_of({kXtx, twin}).default_gpu == 0);
}

TEST_CASE("an_integrated_gpu_alone_trains_with_the_systems_memory") {
  const CardSpec halo{.device = 0x1586,
                      .revision = 0xc1,
                      .target_version = 110501,
                      .vram_bytes = 96 * kGib,
                      .gtt_bytes = 16 * kGib,
                      .compute_units = 40};
  const Machine machine = machine_of({halo});
  CHECK(machine.default_gpu == 0);
  CHECK(machine.gpus[0].unified_memory_bytes == 96 * kGib);
  CHECK(machine.recommendation.source == "tier-unified");
  CHECK(machine.visible_devices_env.empty());
  CardSpec laptop = halo;
  laptop.device = 0x15bf;
  laptop.target_version = 110003;
  laptop.vram_bytes = kGib / 2;
  laptop.gtt_bytes = 14 * kGib;
  const Machine small = machine_of({laptop});
  CHECK(small.recommendation.max_params_billion == 10);
  CHECK(small.recommendation.preset_precision == "fp16");
}

TEST_CASE("masks_of_the_user_are_respected") {
  Sources sources = made_machine({kIntegrated, kXtx, kSmall});
  sources.environment["ROCR_VISIBLE_DEVICES"] = "2";
  Machine machine = detect(sources);
  CHECK(machine.default_gpu == 2);
  CHECK(machine.visible_devices_env.empty());
  CHECK_FALSE(has_warning(machine, "INTEGRATED_GPU_FIRST"));
  sources.environment["ROCR_VISIBLE_DEVICES"] = "1,2";
  sources.environment["HIP_VISIBLE_DEVICES"] = "1";
  machine = detect(sources);
  CHECK(machine.default_gpu == 2);
  sources.environment = {{"HIP_VISIBLE_DEVICES", "7"}};
  machine = detect(sources);
  CHECK(machine.backend == "cpu");
  CHECK(broken_invariant(machine) == "");
}

TEST_CASE("overrides_are_judged") {
  Sources sources = made_machine({kSmall});
  sources.environment["HSA_OVERRIDE_GFX_VERSION"] = "11.0.0";
  Machine machine = detect(sources);
  CHECK(machine.gpus[0].effective_gfx == "gfx1100");
  CHECK(machine.gpus[0].sdpa == "fused");
  CHECK(has_warning(machine, "GFX_OVERRIDE_UNNECESSARY"));
  CHECK_FALSE(is_blocked(machine));
  sources.environment["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0";
  machine = detect(sources);
  CHECK(has_warning(machine, "GFX_OVERRIDE_FAMILY_MISMATCH"));
  CHECK(is_blocked(machine));
  sources.environment["HSA_OVERRIDE_GFX_VERSION"] = "11.0";
  machine = detect(sources);
  CHECK(has_warning(machine, "HSA_INIT_FAILED"));
  CHECK(machine.backend == "cpu");
  // The form for one node wins over the one for all.
  sources.environment["HSA_OVERRIDE_GFX_VERSION_1"] = "11.0.1";
  CHECK(detect(sources).gpus[0].effective_gfx == "gfx1101");
}

TEST_CASE("another_kind_of_libtorch_is_told") {
  Sources sources = made_machine({kXtx});
  sources.libtorch = {.is_present = true, .version = "2.13.0+cpu"};
  const Machine machine = detect(sources);
  REQUIRE(has_warning(machine, "BACKEND_MISMATCH"));
  CHECK(find_warning(machine, "BACKEND_MISMATCH")->severity == "error");
  CHECK(machine.backend == "cpu");
  CHECK(is_blocked(machine));
  sources.libtorch = {};
  CHECK(is_blocked(detect(sources)));
  CHECK(broken_invariant(detect(sources)) == "");
}

TEST_CASE("broken_access_of_each_kind_is_told") {
  const Sources whole = made_machine({kXtx, kSmall});
  Sources sources = whole;
  sources.devices["/dev/kfd"].open_result = "EACCES";
  sources.devices["/dev/kfd"].group = "video";
  Machine machine = detect(sources);
  CHECK(find_warning(machine, "KFD_PERMISSION_DENIED")->fix_group == "video");
  CHECK(machine.backend == "cpu");
  sources = whole;
  sources.devices.erase("/dev/dri/renderD128");
  machine = detect(sources);
  CHECK(find_warning(machine, "RENDER_NODE_MISSING")->gpu == 0);
  CHECK(machine.default_gpu == 1);
  sources = whole;
  sources.devices.erase("/dev/kfd");
  machine = detect(sources);
  CHECK(find_warning(machine, "KFD_MISSING")->fix_docker_args.empty());
  sources = whole;
  sources.commands["rocminfo"] = {
      .output = "hsa api call failure at: x\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES\n", .exit = 8};
  machine = detect(sources);
  CHECK(has_warning(machine, "HSA_INIT_FAILED"));
  CHECK_FALSE(has_warning(machine, "TOOL_OUTPUT_INVALID"));
  CHECK(machine.backend == "cpu");
  CardSpec passed = kSmall;
  passed.driver = "vfio-pci";
  machine = machine_of({kXtx, passed});
  CHECK(find_warning(machine, "GPU_WITHOUT_DRIVER")->gpu == 1);
  CHECK(machine.default_gpu == 0);
}

TEST_CASE("two_cards_without_pass_through_of_the_iommu") {
  Files files = made_files({kXtx, kSmall});
  CHECK_FALSE(has_warning(detect(made_machine({kXtx, kSmall}, files)), "MULTI_GPU_IOMMU_NOT_PT"));
  files["/proc/cmdline"] = "quiet iommu=ptx";
  CHECK(has_warning(detect(made_machine({kXtx, kSmall}, files)), "MULTI_GPU_IOMMU_NOT_PT"));
}

TEST_CASE("missing_tools_change_nothing_that_sysfs_tells") {
  for (const std::string& name : fixture_names()) {
    CAPTURE(name);
    Sources sources = fixture(name);
    const Machine whole = detect(sources);
    if (whole.platform.is_wsl || name.find("nvidia") != std::string::npos) continue;
    sources.commands.clear();
    const Machine machine = detect(sources);
    CHECK(broken_invariant(machine) == "");
    CHECK(machine.backend == whole.backend);
    CHECK(machine.default_gpu == whole.default_gpu);
    REQUIRE(machine.gpus.size() == whole.gpus.size());
    for (size_t i = 0; i < whole.gpus.size(); ++i) {
      CHECK(machine.gpus[i].name == whole.gpus[i].name);
      CHECK(machine.gpus[i].gfx == whole.gpus[i].gfx);
      CHECK(machine.gpus[i].vram_bytes == whole.gpus[i].vram_bytes);
      CHECK(machine.gpus[i].compute_units == whole.gpus[i].compute_units);
      CHECK(machine.gpus[i].is_integrated == whole.gpus[i].is_integrated);
    }
  }
}

// Cut, with bytes changed, with another exit status: the seed decides.
void garble(CommandResult& result, std::mt19937& random) {
  if (!result.is_installed() || result.output.empty()) return;
  const size_t size = result.output.size();
  switch (random() % 3) {
    case 0:
      result.output.resize(random() % size);
      break;
    case 1:
      for (int i = 0; i < 20; ++i) result.output[random() % size] = static_cast<char>(random() % 256);
      break;
    default:
      result.exit = static_cast<int>(random() % 3);
  }
}

TEST_CASE("garbled_tools_never_win_over_sysfs") {
  for (const char* name :
       {"rx7600-rocm641", "mi250-2gcd", "rx7800xt-igpu-first", "strix-halo-gfx1151", "mixed-nvidia-amd"}) {
    const Sources whole = fixture(name);
    const Machine expected = detect(whole);
    for (unsigned seed = 0; seed < 6; ++seed) {
      CAPTURE(name);
      CAPTURE(seed);
      std::mt19937 random(seed);
      Sources sources = whole;
      for (auto& [line, result] : sources.commands) garble(result, random);
      const Machine machine = detect(sources);
      CHECK(broken_invariant(machine) == "");
      CHECK(machine.gpus.back().gfx == expected.gpus.back().gfx);
      CHECK(machine.gpus.back().vram_bytes == expected.gpus.back().vram_bytes);
      CHECK(machine.gpus.back().bdf == expected.gpus.back().bdf);
    }
  }
}

TEST_CASE("garbled_files_of_the_kernel_never_stop_the_report") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Files files = made_files({kIntegrated, kXtx, kSmall});
    for (auto& [path, content] : files) {
      const char* junk[] = {
          "", "-1", "99999999999999999999999", "N/A", "\x01\xff\n\n=", "0x", "simd_count 1\nsimd_per_cu 9"};
      if (random() % 4 == 0) content = junk[random() % 7];
    }
    CHECK(broken_invariant(detect(made_machine({kIntegrated, kXtx, kSmall}, files))) == "");
  }
}

}  // namespace

}  // namespace cinnabar::hardware
