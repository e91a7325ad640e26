#include "cinnabar/hardware/gfx.h"

#include <algorithm>
#include <array>

#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_one_of(std::string_view gfx, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), gfx) != list.end();
}

struct Generic {
  std::string_view name;
  std::string_view members;
};
// Code objects for a whole family (LLVM's generic targets).
constexpr std::array<Generic, 6> kGenerics{{{"gfx9-generic", "gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c"},
                                            {"gfx9-4-generic", "gfx940 gfx941 gfx942 gfx950"},
                                            {"gfx10-1-generic", "gfx1010 gfx1011 gfx1012 gfx1013"},
                                            {"gfx10-3-generic",
                                             "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 "
                                             "gfx1036"},
                                            {"gfx11-generic",
                                             "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 "
                                             "gfx1152 gfx1153"},
                                            {"gfx12-generic", "gfx1200 gfx1201"}}};

std::string without_features(std::string_view arch) { return std::string(arch.substr(0, arch.find(':'))); }

// In the order in which they are tried for a chip whose own kernels are missing.
std::vector<std::string> relatives(const GfxVersion& chip) {
  const std::string own = gfx_name(chip);
  if (chip.major == 9) {
    // Code of gfx900 runs on the later chips without matrix units; those with them (CDNA) have no relative.
    if (is_one_of(own, {"gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"})) return {"gfx900"};
    return {};
  }
  if (chip.major == 11 && chip.minor == 5) return {"gfx1151", "gfx1150", "gfx1100"};
  if (chip.major == 12 && chip.minor == 0) return {"gfx1201", "gfx1200"};
  std::vector<std::string> list;
  for (int step = 0; step < 16; ++step) list.push_back(gfx_name({chip.major, chip.minor, step}));
  // RDNA1 lacks some instructions of RDNA2; most kernels run all the same, as years of use by many show.
  if (chip.major == 10) list.push_back("gfx1030");
  return list;
}

}  // namespace

std::optional<GfxVersion> parse_gfx(std::string_view gfx) {
  if (!gfx.starts_with("gfx") || gfx.size() < 6 || gfx.size() > 8) return std::nullopt;
  const std::string_view digits = gfx.substr(3);
  const int step = hex_digit(digits.back());
  const int minor = hex_digit(digits[digits.size() - 2]);
  const std::string_view major = digits.substr(0, digits.size() - 2);
  if (step < 0 || minor < 0 || !all_digits(major)) return std::nullopt;
  return GfxVersion{static_cast<int>(*integer_of(major)), minor, step};
}

std::string gfx_name(const GfxVersion& version) {
  constexpr std::string_view kHex = "0123456789abcdef";
  return "gfx" + std::to_string(version.major) + kHex[static_cast<size_t>(version.minor) % 16] +
         kHex[static_cast<size_t>(version.step) % 16];
}

std::optional<std::string> gfx_of_target_version(int64_t version) {
  if (version < 10000 || version > 999999) return std::nullopt;
  const GfxVersion parts{static_cast<int>(version / 10000), static_cast<int>(version / 100 % 100),
                         static_cast<int>(version % 100)};
  if (parts.minor > 15 || parts.step > 15) return std::nullopt;
  return gfx_name(parts);
}

std::optional<std::string> normal_gfx(std::string_view text) {
  const std::string word = lowered(trimmed(text));
  const size_t at = word.rfind("gfx");
  if (at == std::string::npos) return std::nullopt;
  std::string gfx = without_features(std::string_view(word).substr(at));
  const std::string digits = gfx.substr(3);
  // The 2024 SMI library writes decimal parts and one 0 too many when the minor version is 0.
  if (all_digits(digits)) {
    const bool is_old = digits.size() == 4 && digits.starts_with("90");
    const bool is_new = digits.size() == 5 && digits[0] == '1' && digits[2] == '0';
    if (is_old || is_new) {
      const auto step = integer_of(std::string_view(digits).substr(is_old ? 2 : 3));
      const auto major = integer_of(std::string_view(digits).substr(0, is_old ? 1 : 2));
      if (step && *step < 16) gfx = gfx_name({static_cast<int>(*major), 0, static_cast<int>(*step)});
    }
  }
  if (!parse_gfx(gfx)) return std::nullopt;
  return gfx;
}

std::optional<std::string> gfx_of_override(std::string_view text) {
  const std::vector<std::string> parts = parts_of(text, '.');
  if (parts.size() != 3 || trimmed(text) != text) return std::nullopt;
  std::array<int, 3> numbers{};
  for (size_t i = 0; i < 3; ++i) {
    if (!all_digits(parts[i]) || parts[i].size() > 3) return std::nullopt;
    numbers[i] = static_cast<int>(*integer_of(parts[i]));
  }
  // The limits of the runtime: 63, 255, 255. Names have one hexadecimal digit each for the last two.
  if (numbers[0] > 63 || numbers[1] > 15 || numbers[2] > 15) return std::nullopt;
  return gfx_name({numbers[0], numbers[1], numbers[2]});
}

std::string override_text(std::string_view gfx) {
  const auto version = parse_gfx(gfx);
  if (!version) return {};
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->step);
}

std::optional<std::string> arch_of_gfx(std::string_view gfx) {
  const auto version = parse_gfx(gfx);
  if (!version) return std::nullopt;
  if (gfx == "gfx906") return "GCN5.1";
  if (gfx == "gfx908") return "CDNA1";
  if (gfx == "gfx90a") return "CDNA2";
  if (version->major == 8) return "GCN4";
  if (version->major == 9 && version->minor == 0) return "GCN5";
  if (version->major == 9 && version->minor == 4) return "CDNA3";
  if (version->major == 9 && version->minor == 5) return "CDNA4";
  if (version->major == 10) return version->minor == 1 ? "RDNA1" : "RDNA2";
  if (version->major == 11) return version->minor == 5 ? "RDNA3.5" : "RDNA3";
  if (version->major == 12 && version->minor == 0) return "RDNA4";
  return std::nullopt;
}

int64_t wave_size_of_gfx(std::string_view gfx) {
  const auto version = parse_gfx(gfx);
  return version && version->major >= 10 ? 32 : 64;
}

bool is_rdna(std::string_view gfx) {
  const auto arch = arch_of_gfx(gfx);
  return arch && arch->starts_with("RDNA");
}

bool is_integrated_gfx(std::string_view gfx) {
  return is_one_of(gfx, {"gfx902", "gfx909", "gfx90c", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103", "gfx1150",
                         "gfx1151", "gfx1152", "gfx1153"});
}

Precisions precisions_of_gfx(std::string_view gfx) {
  const auto version = parse_gfx(gfx);
  if (!version) return {.bf16 = "emulated", .fp8 = "none"};
  const bool is_cdna = is_one_of(gfx, {"gfx908", "gfx90a"}) || (version->major == 9 && version->minor >= 4);
  const bool is_native = is_cdna || version->major >= 11;
  std::string fp8 = "none";
  if (version->major == 9 && version->minor == 4) fp8 = "fnuz";
  if ((version->major == 9 && version->minor == 5) || version->major >= 12) fp8 = "ocp";
  return {.bf16 = is_native ? "native" : "emulated", .fp8 = fp8};
}

std::string attention_of_gfx(std::string_view gfx) {
  if (is_one_of(gfx, {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201", "gfx1250"})) return "fused";
  if (is_one_of(gfx, {"gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1152", "gfx1153", "gfx1200"}))
    return "fused-with-flag";
  return "math-only";
}

bool covers(const std::vector<std::string>& arch_list, std::string_view gfx) {
  return std::any_of(arch_list.begin(), arch_list.end(), [&](const std::string& entry) {
    const std::string arch = without_features(lowered(entry));
    if (arch == gfx) return true;
    const auto generic =
        std::find_if(kGenerics.begin(), kGenerics.end(), [&](const Generic& g) { return g.name == arch; });
    if (generic == kGenerics.end()) return false;
    const std::vector<std::string> members = parts_of(generic->members, ' ');
    return std::find(members.begin(), members.end(), gfx) != members.end();
  });
}

std::optional<std::string> suggested_override(const std::vector<std::string>& arch_list, std::string_view gfx) {
  const auto chip = parse_gfx(gfx);
  if (!chip) return std::nullopt;
  for (const std::string& relative : relatives(*chip)) {
    if (relative != gfx && covers(arch_list, relative)) return override_text(relative);
  }
  return std::nullopt;
}

namespace {

// 8.9 -> 89; capabilities have one digit after the point.
int capability_number(std::string_view capability) {
  const Version version = version_of(capability);
  return version.size() < 2 ? 0 : version[0] * 10 + version[1];
}

}  // namespace

std::optional<std::string> arch_of_capability(std::string_view capability) {
  const int number = capability_number(capability);
  if (number >= 100) return "Blackwell";
  if (number >= 90) return "Hopper";
  if (number == 89) return "Ada";
  if (number >= 80) return "Ampere";
  if (number >= 75) return "Turing";
  if (number >= 70) return "Volta";
  if (number >= 60) return "Pascal";
  if (number >= 50) return "Maxwell";
  if (number >= 30) return "Kepler";
  return std::nullopt;
}

Precisions precisions_of_capability(std::string_view capability) {
  const int number = capability_number(capability);
  return {.bf16 = number >= 80 ? "native" : "emulated", .fp8 = number >= 89 ? "ocp" : "none"};
}

std::string attention_of_capability(std::string_view capability) {
  return capability_number(capability) >= 70 ? "fused" : "math-only";
}

bool covers_capability(const std::vector<std::string>& arch_list, std::string_view capability) {
  const int number = capability_number(capability);
  return std::any_of(arch_list.begin(), arch_list.end(), [&](const std::string& entry) {
    const size_t at = entry.find('_');
    if (at == std::string::npos) return false;
    const auto built_for = number_of(std::string_view(entry).substr(at + 1));
    if (!built_for) return false;
    const int built = static_cast<int>(*built_for);
    // Machine code runs on later chips of the same major version, portable code (compute_) on all later ones.
    return built <= number && (entry.starts_with("compute_") || built / 10 == number / 10);
  });
}

}  // namespace cinnabar::hardware
