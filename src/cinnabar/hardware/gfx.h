// Names of AMD chip architectures (gfx1100, gfx90a) and what each can do. Facts of the ROCm and AOTriton sources; the
// pages that they come from are listed in docs/doctor.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/hardware/machine.h"

namespace cinnabar::hardware {

struct GfxVersion {
  int major = 0;
  int minor = 0;
  int step = 0;
  bool operator==(const GfxVersion&) const = default;
};

std::optional<GfxVersion> parse_gfx(std::string_view gfx);  // "gfx90a" -> 9, 0, 10
std::string gfx_name(const GfxVersion& version);            // 9, 0, 10 -> "gfx90a"
// gfx_target_version of the kernel: major * 10000 + minor * 100 + step, e.g. 110002 -> "gfx1102".
std::optional<std::string> gfx_of_target_version(int64_t version);
// Any spelling of a tool: "gfx11002" of the 2024 SMI library, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-".
std::optional<std::string> normal_gfx(std::string_view text);
// HSA_OVERRIDE_GFX_VERSION: "10.3.0" -> "gfx1030"; nothing when the runtime would refuse it.
std::optional<std::string> gfx_of_override(std::string_view text);
std::string override_text(std::string_view gfx);  // "gfx1030" -> "10.3.0"

std::optional<std::string> arch_of_gfx(std::string_view gfx);  // "RDNA3"
int64_t wave_size_of_gfx(std::string_view gfx);
bool is_rdna(std::string_view gfx);
// GPUs inside a processor. MI300A (gfx942) is one, too, but no "integrated graphics".
bool is_integrated_gfx(std::string_view gfx);
// An integrated GPU with fewer compute units is slower than the processor beside it: no loss when it cannot be used.
inline constexpr int64_t kUsefulUnits = 8;
Precisions precisions_of_gfx(std::string_view gfx);
// Fused attention of AOTriton 0.12: "fused", "fused-with-flag", "math-only".
std::string attention_of_gfx(std::string_view gfx);

// Whether a list of architectures has kernels for `gfx`: by name or through a generic one ("gfx11-generic").
bool covers(const std::vector<std::string>& arch_list, std::string_view gfx);
// The architecture of `arch_list` whose kernels a chip without its own may run, as text for
// HSA_OVERRIDE_GFX_VERSION. Never of another major version. Empty: none.
std::optional<std::string> suggested_override(const std::vector<std::string>& arch_list, std::string_view gfx);

// The same for NVIDIA, by compute capability ("8.9").
std::optional<std::string> arch_of_capability(std::string_view capability);
Precisions precisions_of_capability(std::string_view capability);
std::string attention_of_capability(std::string_view capability);
bool covers_capability(const std::vector<std::string>& arch_list, std::string_view capability);

}  // namespace cinnabar::hardware
