#include "cinnabar/hardware/rules.h"

#include <algorithm>

#include "cinnabar/hardware/access.h"
#include "cinnabar/hardware/advice.h"
#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

// ROCm versions from which expandable segments together with a split limit were seen to zero live memory.
const Version kZeroingRocm = {7, 14};
constexpr double kLittleFree = 0.25;

class Finder {
 public:
  Finder(const Machine& machine, const Sources& sources, const Readings& readings)
      : machine_(machine), sources_(sources), readings_(readings) {}

  std::vector<Warning> find() {
    presence();
    nodes();
    runtime();
    for (size_t i = 0; i < machine_.gpus.size(); ++i) {
      const Gpu& gpu = machine_.gpus[i];
      const int index = static_cast<int>(i);
      integrated(gpu, index);
      mismatch(gpu, index);
      if (gpu.vendor == "nvidia") nvidia_coverage(gpu, index);
      if (!is_of_interest(machine_, gpu)) continue;
      memory(gpu, index);
      if (gpu.vendor != "amd") continue;
      overrides(gpu, index);
      capabilities(gpu, index);
    }
    settings();
    return std::move(warnings_);
  }

 private:
  Warning& add(const char* code, const char* severity, std::optional<int> gpu = std::nullopt) {
    warnings_.push_back({.code = code, .severity = severity, .gpu = gpu});
    return warnings_.back();
  }

  bool has_amd() const {
    return std::any_of(machine_.gpus.begin(), machine_.gpus.end(), [](const Gpu& gpu) { return gpu.vendor == "amd"; });
  }

  void presence() {
    const Platform& platform = machine_.platform;
    if (machine_.gpus.empty()) add("NO_GPU", "info");
    if (!platform.is_amdgpu_loaded && !platform.is_wsl) {
      if (has_amd()) add("AMDGPU_MODULE_NOT_LOADED", "error");
      if (machine_.gpus.empty()) add("AMDGPU_MODULE_NOT_LOADED", "info");
    }
    for (size_t i = 0; i < machine_.gpus.size(); ++i) {
      const Gpu& gpu = machine_.gpus[i];
      const bool is_bound = gpu.driver == (gpu.vendor == "amd" ? "amdgpu" : "nvidia");
      if (!is_bound && !(platform.is_wsl && gpu.is_seen_by_runtime)) {
        add("GPU_WITHOUT_DRIVER", "error", static_cast<int>(i));
      }
    }
    const bool has_nvidia =
        std::any_of(machine_.gpus.begin(), machine_.gpus.end(), [](const Gpu& gpu) { return gpu.vendor == "nvidia"; });
    if (platform.is_wsl && (has_amd() || !has_nvidia)) add("WSL_LIMITED_MONITORING", "info");
    if (has_amd() && !platform.has_rocm_tools) add("ROCM_USERSPACE_MISSING", "info");
  }

  void nodes() {
    const bool has_driven = std::any_of(machine_.gpus.begin(), machine_.gpus.end(),
                                        [](const Gpu& gpu) { return gpu.vendor == "amd" && gpu.driver == "amdgpu"; });
    if (machine_.platform.is_wsl || !has_driven) return;
    const DeviceNode kfd = sources_.device("/dev/kfd");
    if (!kfd.exists) {
      Warning& warning = add("KFD_MISSING", "error");
      if (machine_.platform.is_container) {
        warning.fix_docker_args = {"--device=/dev/kfd", "--device=/dev/dri", "--group-add=video", "--group-add=render"};
      }
    } else if (kfd.is_refused()) {
      add("KFD_PERMISSION_DENIED", "error").fix_group = kfd.group;
    }
    for (size_t i = 0; i < machine_.gpus.size(); ++i) {
      const Gpu& gpu = machine_.gpus[i];
      if (gpu.vendor != "amd" || gpu.driver != "amdgpu" || !gpu.render_minor) continue;
      const DeviceNode node = sources_.device("/dev/dri/renderD" + std::to_string(*gpu.render_minor));
      if (!node.exists) add("RENDER_NODE_MISSING", "error", static_cast<int>(i));
      if (node.is_refused()) {
        add("RENDER_NODE_PERMISSION_DENIED", "error", static_cast<int>(i)).fix_group = node.group;
      }
    }
  }

  bool has_bad_override() const {
    return std::any_of(machine_.gpus.begin(), machine_.gpus.end(), [](const Gpu& gpu) {
      return gpu.vendor == "amd" && gpu.is_seen_by_runtime && gpu.gfx && !gpu.effective_gfx;
    });
  }

  // Whether the driver is there and its node opens, so that a tool's failure is not explained by that.
  bool is_driver_fine() const { return machine_.platform.is_amdgpu_loaded && sources_.device("/dev/kfd").is_open(); }

  void runtime() {
    using State = Rocminfo::State;
    const State state = readings_.rocminfo.state;
    // rocminfo that cannot open what the probe could open has another reason, inside the runtime.
    const bool is_init = state == State::InitFailed || (state == State::NoAccess && is_driver_fine());
    if (is_init || has_bad_override()) add("HSA_INIT_FAILED", "error");
    if (state == State::Invalid && !has_bad_override()) invalid("rocminfo");
    const bool has_driver = machine_.platform.is_amdgpu_loaded && !machine_.platform.is_wsl;
    if (readings_.amd_smi.is_invalid && has_driver) invalid("amd-smi");
    if (readings_.rocm_smi.is_invalid && has_driver) invalid("rocm-smi");
    const bool is_explained = std::any_of(machine_.gpus.begin(), machine_.gpus.end(), [](const Gpu& gpu) {
      return gpu.vendor == "nvidia" && gpu.driver != "nvidia";
    });
    if (readings_.nvidia_smi.is_invalid && !is_explained) invalid("nvidia-smi");
  }

  void invalid(const char* tool) { add("TOOL_OUTPUT_INVALID", "warning").tool = tool; }

  void integrated(const Gpu& gpu, int index) {
    if (gpu.vendor != "amd" || !gpu.is_integrated || gpu.is_masked) return;
    if (has_discrete_amd(machine_)) {
      const bool is_first = gpu.amd_index == 0;
      add(is_first ? "INTEGRATED_GPU_FIRST" : "INTEGRATED_GPU_PRESENT", is_first ? "error" : "warning", index);
    } else if (is_of_interest(machine_, gpu)) {
      add("UNIFIED_MEMORY", "info", index);
    }
  }

  void mismatch(const Gpu& gpu, int index) {
    const Libtorch& torch = machine_.libtorch;
    if (!torch.is_present) return;
    const bool fits = gpu.vendor == "amd" ? torch.hip.has_value() : torch.cuda.has_value();
    if (fits) return;
    // Beside a discrete card of the same maker an integrated GPU is no loss.
    if (gpu.is_integrated && has_discrete_amd(machine_)) return;
    const bool is_small = gpu.is_integrated && gpu.compute_units.value_or(0) < kUsefulUnits;
    add("BACKEND_MISMATCH", machine_.default_gpu || is_small ? "info" : "error", index);
  }

  void nvidia_coverage(const Gpu& gpu, int index) {
    if (!machine_.libtorch.cuda || machine_.libtorch.arch_list.empty() || !gpu.compute_capability) return;
    if (!covers_capability(machine_.libtorch.arch_list, *gpu.compute_capability))
      add("GFX_NOT_IN_LIBTORCH", "error", index);
  }

  void memory(const Gpu& gpu, int index) {
    if (!gpu.is_integrated && gpu.vram_bytes && gpu.visible_vram_bytes && *gpu.visible_vram_bytes < *gpu.vram_bytes)
      add("SMALL_BAR", "warning", index);
    std::optional<int64_t> total = gpu.vram_bytes;
    std::optional<int64_t> used = gpu.vram_used_bytes;
    if (gpu.is_integrated && gpu.gtt_bytes.value_or(0) > total.value_or(0)) {
      total = gpu.gtt_bytes;
      used = gpu.gtt_used_bytes;
    }
    if (!total || !used || *total <= 0) return;
    if (static_cast<double>(*total - *used) < kLittleFree * static_cast<double>(*total))
      add("LOW_FREE_VRAM", "warning", index);
  }

  void overrides(const Gpu& gpu, int index) {
    if (!gpu.gfx || !gpu.effective_gfx) return;
    const bool is_set =
        sources_.variable("HSA_OVERRIDE_GFX_VERSION") ||
        (gpu.kfd_node && sources_.variable("HSA_OVERRIDE_GFX_VERSION_" + std::to_string(*gpu.kfd_node)));
    if (!is_set) return;
    add("GFX_OVERRIDE_ACTIVE", "info", index);
    const auto chip = parse_gfx(*gpu.gfx);
    const auto wish = parse_gfx(*gpu.effective_gfx);
    if (chip && wish && chip->major != wish->major) add("GFX_OVERRIDE_FAMILY_MISMATCH", "error", index);
    if (machine_.libtorch.hip && covers(machine_.libtorch.arch_list, *gpu.gfx))
      add("GFX_OVERRIDE_UNNECESSARY", "warning", index);
  }

  void capabilities(const Gpu& gpu, int index) {
    const auto& list = machine_.libtorch.arch_list;
    if (machine_.libtorch.hip && !list.empty() && gpu.effective_gfx && !covers(list, *gpu.effective_gfx)) {
      const std::string chip = gpu.gfx.value_or(*gpu.effective_gfx);
      add("GFX_NOT_IN_LIBTORCH", "error", index).suggest_override = suggested_override(list, chip);
    }
    if (!gpu.gfx) return;
    if (gpu.sdpa == "math-only") add("ATTENTION_MATH_ONLY", "warning", index);
    const char* flag = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL";
    if (gpu.sdpa == "fused-with-flag" && sources_.variable(flag).value_or("0") != "1")
      add("ATTENTION_NEEDS_EXPERIMENTAL_FLAG", "warning", index).set_env = {{flag, "1"}};
    if (gpu.arch == "RDNA1" || gpu.arch == "RDNA2") add("BF16_EMULATED", "info", index);
    const Recommendation advice = recommend_for(gpu);
    if (advice.preset_precision == "fp8" && gpu.precisions.fp8 == "none") add("FP8_STORAGE_ONLY", "warning", index);
  }

  void settings() {
    const auto discrete = std::count_if(machine_.gpus.begin(), machine_.gpus.end(),
                                        [](const Gpu& gpu) { return gpu.vendor == "amd" && !gpu.is_integrated; });
    const std::vector<std::string> kernel_options = parts_of(sources_.files.text("/proc/cmdline").value_or(""), ' ');
    const bool is_passed_through =
        std::find(kernel_options.begin(), kernel_options.end(), "iommu=pt") != kernel_options.end();
    if (discrete >= 2 && !is_passed_through) add("MULTI_GPU_IOMMU_NOT_PT", "warning");
    if (machine_.libtorch.hip && version_of(*machine_.libtorch.hip) >= kZeroingRocm && allocator_risk())
      add("EXPANDABLE_SEGMENTS_RISK", "warning");
  }

  // The first of the three names that is set is the one that libtorch reads.
  bool allocator_risk() const {
    for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
      const auto value = sources_.variable(name);
      if (!value) continue;
      bool is_expandable = false;
      bool is_split = false;
      for (const std::string& part : parts_of(*value, ',')) {
        const std::vector<std::string> pair = parts_of(part, ':');
        if (pair[0] == "expandable_segments" && pair.back() == "True") is_expandable = true;
        if (pair[0] == "max_split_size_mb") is_split = true;
      }
      return is_expandable && is_split;
    }
    return false;
  }

  const Machine& machine_;
  const Sources& sources_;
  const Readings& readings_;
  std::vector<Warning> warnings_;
};

}  // namespace

std::vector<Warning> find_warnings(const Machine& machine, const Sources& sources, const Readings& readings) {
  return Finder(machine, sources, readings).find();
}

bool is_blocked(const Machine& machine) {
  if (!machine.libtorch.is_present) return true;
  return std::any_of(machine.warnings.begin(), machine.warnings.end(), [](const Warning& warning) {
    return warning.severity == "error" && warning.code != "INTEGRATED_GPU_FIRST";
  });
}

}  // namespace cinnabar::hardware
