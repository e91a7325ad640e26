#include "cinnabar/hardware/attention_support.h"

#include <algorithm>
#include <array>

#include "cinnabar/hardware/gfx.h"

namespace cinnabar::hardware {

namespace {

constexpr const char* kFlag = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL";

struct Row {
  std::array<int, 2> libtorch;  // from this version on
  const char* chips;
  const char* flagged_chips;  // behind kFlag
  int64_t largest_head;
  int64_t largest_head_rdna3;  // of gfx11
};

// AOTriton 0.12, 0.11.2, 0.11.1, 0.11, 0.10, 0.9, 0.7: its lists of chips at each tag, and the heads that its images
// hold.
constexpr std::array kSupportRows{
    Row{{2, 12},
        "gfx90a gfx942 gfx950 gfx1100 gfx1151 gfx1201 gfx1250",
        "gfx1101 gfx1102 gfx1103 gfx1150 gfx1152 gfx1153 gfx1200",
        512,
        512},
    Row{{2, 11},
        "gfx90a gfx942 gfx950 gfx1100 gfx1201",
        "gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200",
        512,
        256},
    Row{{2, 10}, "gfx90a gfx942 gfx950 gfx1100 gfx1201", "gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1200", 512, 256},
    Row{{2, 9}, "gfx90a gfx942 gfx950 gfx1201", "gfx1100 gfx1101 gfx1102 gfx1150 gfx1151 gfx1200", 512, 256},
    Row{{2, 8}, "gfx90a gfx942 gfx950 gfx1100 gfx1201", "gfx1101", 512, 512},
    Row{{2, 7}, "gfx90a gfx942 gfx1100", "gfx950 gfx1201", 512, 512},
    Row{{2, 5}, "gfx90a gfx942", "gfx1100", 256, 256}};

bool lists(const char* chips, std::string_view gfx) {
  const std::vector<std::string> list = parts_of(chips, ' ');
  return std::find(list.begin(), list.end(), gfx) != list.end();
}

std::string heads_text(int64_t largest) { return "heads up to " + std::to_string(largest) + " wide"; }

AttentionAdvice for_amd(const Machine& machine, const Gpu* gpu) {
  const std::string in_pieces = "attention in pieces";
  if (gpu == nullptr || !gpu->effective_gfx)
    return {0, in_pieces + ", since it is not known which chip trains and so what its kernels can"};
  const std::string& gfx = *gpu->effective_gfx;
  const std::string version = machine.libtorch.version.value_or("of unknown version");
  const FusedAttention fused = fused_attention(gfx, version_of(version));
  if (fused.largest_head == 0) return {0, in_pieces + ": libtorch " + version + " has no fused kernel for " + gfx};
  const auto flag = machine.environment.find(kFlag);
  if (fused.needs_flag && (flag == machine.environment.end() || flag->second != "1")) {
    return {0, in_pieces + ": the fused kernel for " + gfx + " is behind " + kFlag + "=1, which is not set"};
  }
  return {fused.largest_head, "fused for " + heads_text(fused.largest_head) + ", wider ones in pieces (" + gfx +
                                  ", libtorch " + version + ")"};
}

}  // namespace

FusedAttention fused_attention(std::string_view gfx, const Version& libtorch) {
  const auto row = std::find_if(kSupportRows.begin(), kSupportRows.end(), [&](const Row& entry) {
    return is_at_least(libtorch, {entry.libtorch[0], entry.libtorch[1]});
  });
  if (row == kSupportRows.end()) return {};
  const bool is_flagged = lists(row->flagged_chips, gfx);
  if (!is_flagged && !lists(row->chips, gfx)) return {};
  const auto chip = parse_gfx(gfx);
  const bool is_rdna3 = chip && chip->major == 11;
  return {.largest_head = is_rdna3 ? row->largest_head_rdna3 : row->largest_head, .needs_flag = is_flagged};
}

AttentionAdvice advise_attention(const Machine& machine, const Gpu* gpu) {
  if (machine.libtorch.hip) return for_amd(machine, gpu);
  // NVIDIA: the memory-efficient kernel takes every width from Maxwell on.
  return {.text = "libtorch's own"};
}

}  // namespace cinnabar::hardware
