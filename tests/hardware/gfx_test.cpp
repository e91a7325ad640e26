#include "cinnabar/hardware/gfx.h"

#include <doctest/doctest.h>

#include "cinnabar/hardware/chips.h"
#include "cinnabar/hardware/setup_tables.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

TEST_CASE("gfx_names_of_all_spellings") {
  CHECK(gfx_of_target_version(110002) == "gfx1102");
  CHECK(gfx_of_target_version(90010) == "gfx90a");
  CHECK(gfx_of_target_version(90402) == "gfx942");
  CHECK(gfx_of_target_version(90012) == "gfx90c");
  CHECK(gfx_of_target_version(0) == std::nullopt);
  CHECK(gfx_of_target_version(99999999) == std::nullopt);
  for (const auto& [spelling, name] :
       {std::pair("gfx11000", "gfx1100"), std::pair("gfx11002", "gfx1102"), std::pair("gfx12001", "gfx1201"),
        std::pair("gfx9010", "gfx90a"), std::pair("gfx9006", "gfx906"), std::pair("gfx942", "gfx942"),
        std::pair("gfx1030", "gfx1030"), std::pair("gfx1151", "gfx1151"), std::pair("GFX90A", "gfx90a"),
        std::pair("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a")}) {
    CAPTURE(spelling);
    CHECK(normal_gfx(spelling) == name);
  }
  for (const char* text : {"", "N/A", "gfx", "gfx1", "gfx11-generic", "navi"}) CHECK(normal_gfx(text) == std::nullopt);
}

TEST_CASE("overrides_are_read_as_the_runtime_reads_them") {
  CHECK(gfx_of_override("10.3.0") == "gfx1030");
  CHECK(gfx_of_override("9.0.10") == "gfx90a");
  for (const char* text : {"", "10.3", "10.3.0.1", "gfx1030", "10.x.0", "64.0.0", "10.3.0 "})
    CHECK(gfx_of_override(text) == std::nullopt);
  CHECK(override_text("gfx1151") == "11.5.1");
}

TEST_CASE("abilities_by_chip") {
  struct Row {
    const char* gfx;
    const char* arch;
    const char* bf16;
    const char* fp8;
    const char* attention;
    int wave;
  };
  for (const Row& row :
       {Row{"gfx1010", "RDNA1", "emulated", "none", "math-only", 32},
        Row{"gfx1035", "RDNA2", "emulated", "none", "math-only", 32},
        Row{"gfx1103", "RDNA3", "native", "none", "fused-with-flag", 32},
        Row{"gfx1150", "RDNA3.5", "native", "none", "fused-with-flag", 32},
        Row{"gfx1151", "RDNA3.5", "native", "none", "fused", 32},
        Row{"gfx1200", "RDNA4", "native", "ocp", "fused-with-flag", 32},
        Row{"gfx906", "GCN5.1", "emulated", "none", "math-only", 64},
        Row{"gfx908", "CDNA1", "native", "none", "math-only", 64},
        Row{"gfx90a", "CDNA2", "native", "none", "fused", 64}, Row{"gfx942", "CDNA3", "native", "fnuz", "fused", 64},
        Row{"gfx950", "CDNA4", "native", "ocp", "fused", 64}}) {
    CAPTURE(row.gfx);
    CHECK(arch_of_gfx(row.gfx) == row.arch);
    CHECK(precisions_of_gfx(row.gfx).bf16 == row.bf16);
    CHECK(precisions_of_gfx(row.gfx).fp8 == row.fp8);
    CHECK(attention_of_gfx(row.gfx) == row.attention);
    CHECK(wave_size_of_gfx(row.gfx) == row.wave);
  }
  CHECK(arch_of_gfx("nonsense") == std::nullopt);
}

TEST_CASE("an_override_is_proposed_within_a_family_only") {
  const std::vector<std::string> list = {"gfx900",  "gfx90a",  "gfx1030", "gfx1100",
                                         "gfx1101", "gfx1150", "gfx1151", "gfx1201"};
  CHECK(suggested_override(list, "gfx1032") == "10.3.0");
  CHECK(suggested_override(list, "gfx1102") == "11.0.0");
  CHECK(suggested_override(list, "gfx1103") == "11.0.0");
  CHECK(suggested_override(list, "gfx1152") == "11.5.1");
  CHECK(suggested_override(list, "gfx1200") == "12.0.1");
  CHECK(suggested_override(list, "gfx90c") == "9.0.0");
  CHECK(suggested_override({"gfx1010", "gfx1030"}, "gfx1012") == "10.1.0");
  CHECK(suggested_override(list, "gfx1010") == "10.3.0");
  for (const char* chip : {"gfx942", "gfx908", "gfx803"}) CHECK(suggested_override(list, chip) == std::nullopt);
  CHECK(suggested_override({"gfx1100"}, "gfx1032") == std::nullopt);
}

TEST_CASE("lists_cover_chips_by_name_and_by_family") {
  CHECK(covers({"gfx90a:sramecc+:xnack-"}, "gfx90a"));
  CHECK(covers({"gfx11-generic"}, "gfx1152"));
  CHECK(covers({"gfx10-3-generic"}, "gfx1031"));
  CHECK_FALSE(covers({"gfx10-3-generic"}, "gfx1010"));
  CHECK_FALSE(covers({}, "gfx1100"));
  CHECK(covers_capability({"sm_75", "sm_86"}, "8.9"));
  CHECK(covers_capability({"compute_70"}, "12.0"));
  CHECK_FALSE(covers_capability({"sm_75", "sm_90"}, "8.6"));
  CHECK_FALSE(covers_capability({"sm_75"}, "6.1"));
}

TEST_CASE("one_device_id_is_told_apart_by_revision_and_memory") {
  const auto name = [](int64_t device, std::optional<int64_t> revision, int64_t memory_gib) {
    return card_name(device, revision, memory_gib << 30).value_or("");
  };
  CHECK(name(0x744c, 0xc8, 24) == "AMD Radeon RX 7900 XTX");
  CHECK(name(0x744c, 0xcc, 20) == "AMD Radeon RX 7900 XT");
  CHECK(name(0x744c, std::nullopt, 20) == "AMD Radeon RX 7900 XT");
  CHECK(name(0x747e, 0xff, 12) == "AMD Radeon RX 7700 XT");
  CHECK(name(0x747e, 0x00, 16) == "AMD Radeon RX 7800 XT");
  CHECK(name(0x73bf, 0xc3, 16) == "AMD Radeon RX 6800");
  CHECK(name(0x7480, 0xc0, 16) == "AMD Radeon RX 7600 XT");
  CHECK(card_name(0x9999, 0, 1) == std::nullopt);
  CHECK(gfx_of_device(0x7551) == "gfx1201");
  CHECK(gfx_of_device(0x0001) == std::nullopt);
}

TEST_CASE("versions_are_compared_as_numbers") {
  CHECK(version_of("7.14.0") > version_of("7.9.1"));
  CHECK(version_of("10.1") > version_of("7.14"));
  CHECK(version_of("6.4.1-83") == Version{6, 4, 1});
  CHECK(version_of("none").empty());
  CHECK(number_of("29824(0x7480)") == 29824.0);
  for (const char* text : {"N/A", "[N/A]", "[Not Supported]", "", "nan", "inf"}) CHECK(number_of(text) == std::nullopt);
}

TEST_CASE("the_tables_of_set_up_name_known_chips") {
  const RocmTable table = rocm_table();
  REQUIRE(table.wheels.size() >= 2);
  for (const auto& builds : {table.wheels, table.devices}) {
    for (const RocmBuild& build : builds) {
      for (const std::string& chip : build.chips) CHECK(arch_of_gfx(chip).has_value());
      CHECK(version_of(build.rocm).size() == 2);
    }
  }
  for (const RocmBuild& build : table.wheels) CHECK(table.oldest_driver.contains(build.rocm));
  CHECK(torch_sources().size() >= 8);
}

}  // namespace

}  // namespace cinnabar::hardware
