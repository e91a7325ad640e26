#include "cinnabar/hardware/access.h"

#include <algorithm>

#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

bool is_driver_bound(const Gpu& gpu) { return gpu.driver == (gpu.vendor == "amd" ? "amdgpu" : "nvidia"); }

// Positions that a *_VISIBLE_DEVICES variable keeps, among `count`. UUIDs keep all: which they mean is not known here.
std::vector<int64_t> kept(const std::string& mask, int64_t count) {
  std::vector<int64_t> list;
  for (const std::string& part : parts_of(mask, ',')) {
    const auto index = integer_of(part);
    if (!index && part.starts_with("GPU-")) {
      list.clear();
      for (int64_t i = 0; i < count; ++i) list.push_back(i);
      return list;
    }
    // As the runtimes do: an entry that is no device ends the list.
    if (!index || *index < 0 || *index >= count) break;
    list.push_back(*index);
  }
  return list;
}

// AMD GPUs, by amd_index, that are left over after the user's masks, in the order in which HIP counts them.
std::vector<int64_t> visible_amd(const Machine& machine, const Sources& sources) {
  std::vector<int64_t> visible;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.amd_index) visible.push_back(*gpu.amd_index);
  }
  // HSA filters first; HIP counts what is left. CUDA_VISIBLE_DEVICES is an alias of HIP's.
  const auto hip = sources.variable("HIP_VISIBLE_DEVICES");
  for (const auto& mask :
       {sources.variable("ROCR_VISIBLE_DEVICES"), hip ? hip : sources.variable("CUDA_VISIBLE_DEVICES")}) {
    if (!mask) continue;
    std::vector<int64_t> left;
    for (const int64_t position : kept(*mask, static_cast<int64_t>(visible.size())))
      left.push_back(visible[static_cast<size_t>(position)]);
    visible = left;
  }
  return visible;
}

bool is_amd_open(const Machine& machine, const Gpu& gpu, const Sources& sources, const Readings& readings) {
  if (readings.rocminfo.state == Rocminfo::State::InitFailed) return false;
  if (machine.platform.is_wsl && !gpu.kfd_node) {
    return gpu.is_seen_by_runtime && sources.device("/dev/dxg").is_open();
  }
  if (!is_driver_bound(gpu) || !gpu.is_seen_by_runtime || !gpu.effective_gfx) return false;
  if (!sources.device("/dev/kfd").is_open() || !gpu.render_minor) return false;
  return sources.device("/dev/dri/renderD" + std::to_string(*gpu.render_minor)).is_open();
}

int64_t free_memory(const Gpu& gpu) { return gpu.vram_bytes.value_or(0) - gpu.vram_used_bytes.value_or(0); }

std::optional<int> most_free(const Machine& machine, bool is_integrated) {
  std::optional<int> best;
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    if (!gpu.is_usable || gpu.is_integrated != is_integrated) continue;
    if (!best || free_memory(gpu) > free_memory(machine.gpus[static_cast<size_t>(*best)])) best = static_cast<int>(i);
  }
  return best;
}

void set_mask(Machine& machine, const Sources& sources, const std::vector<int64_t>& visible) {
  if (!machine.default_gpu) return;
  const Gpu& chosen = machine.gpus[static_cast<size_t>(*machine.default_gpu)];
  if (chosen.vendor != "amd" || !chosen.amd_index) return;
  const bool is_first = !visible.empty() && visible.front() == *chosen.amd_index;
  const bool has_other_integrated = std::any_of(machine.gpus.begin(), machine.gpus.end(), [&](const Gpu& gpu) {
    return gpu.vendor == "amd" && gpu.is_integrated && gpu.amd_index && !gpu.is_masked && &gpu != &chosen;
  });
  if (is_first && !has_other_integrated) return;
  // The user's own HIP mask would count in the list that is left after ROCR's: then HIP's is replaced.
  const bool has_hip_mask =
      sources.variable("HIP_VISIBLE_DEVICES").has_value() || sources.variable("CUDA_VISIBLE_DEVICES").has_value();
  const char* name =
      has_hip_mask && !sources.variable("ROCR_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES" : "ROCR_VISIBLE_DEVICES";
  machine.visible_devices_env[name] = std::to_string(*chosen.amd_index);
}

}  // namespace

bool has_discrete_amd(const Machine& machine) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(), [](const Gpu& gpu) {
    return gpu.vendor == "amd" && !gpu.is_integrated && gpu.is_seen_by_runtime;
  });
}

bool is_of_interest(const Machine& machine, const Gpu& gpu) {
  if (!gpu.is_integrated) return true;
  return std::none_of(machine.gpus.begin(), machine.gpus.end(), [](const Gpu& other) { return !other.is_integrated; });
}

const Gpu* gpu_of_device(const Machine& machine, const Sources& sources, int64_t index) {
  const bool is_amd = machine.libtorch.hip.has_value();
  std::vector<int64_t> visible;
  if (is_amd) {
    visible = visible_amd(machine, sources);
  } else {
    for (const Gpu& gpu : machine.gpus) {
      if (gpu.vendor == "nvidia" && gpu.vendor_index && !gpu.is_masked) visible.push_back(*gpu.vendor_index);
    }
    // An order of the user's own.
    if (const auto mask = sources.variable("CUDA_VISIBLE_DEVICES"))
      visible = kept(*mask, static_cast<int64_t>(machine.gpus.size()));
  }
  if (index < 0 || index >= static_cast<int64_t>(visible.size())) return nullptr;
  const int64_t number = visible[static_cast<size_t>(index)];
  const auto found = std::find_if(machine.gpus.begin(), machine.gpus.end(), [&](const Gpu& gpu) {
    return is_amd ? gpu.vendor == "amd" && gpu.amd_index == number
                  : gpu.vendor == "nvidia" && gpu.vendor_index == number;
  });
  return found == machine.gpus.end() ? nullptr : &*found;
}

void decide_access(Machine& machine, const Sources& sources, const Readings& readings) {
  const std::vector<int64_t> visible = visible_amd(machine, sources);
  const auto cuda_mask = sources.variable("CUDA_VISIBLE_DEVICES");
  int64_t nvidia_count = 0;
  for (const Gpu& gpu : machine.gpus) nvidia_count += gpu.vendor == "nvidia" ? 1 : 0;
  for (Gpu& gpu : machine.gpus) {
    if (gpu.vendor == "amd") {
      gpu.is_masked = gpu.amd_index && std::find(visible.begin(), visible.end(), *gpu.amd_index) == visible.end();
      gpu.is_accessible = is_amd_open(machine, gpu, sources, readings);
      gpu.is_usable = gpu.is_accessible && !gpu.is_masked && machine.libtorch.hip.has_value();
      continue;
    }
    if (cuda_mask && gpu.vendor_index && machine.libtorch.cuda) {
      const std::vector<int64_t> list = kept(*cuda_mask, nvidia_count);
      gpu.is_masked = std::find(list.begin(), list.end(), *gpu.vendor_index) == list.end();
    }
    gpu.is_accessible = gpu.driver == "nvidia" && gpu.is_seen_by_runtime;
    gpu.is_usable = gpu.is_accessible && !gpu.is_masked && machine.libtorch.cuda.has_value();
  }
  machine.default_gpu = most_free(machine, false);
  if (!machine.default_gpu) machine.default_gpu = most_free(machine, true);
  if (machine.default_gpu) machine.backend = machine.libtorch.hip ? "rocm" : "cuda";
  for (Gpu& gpu : machine.gpus) {
    // Memory that is shared with the system counts only where such a GPU is what there is to train on.
    if (gpu.vendor != "amd" || !gpu.is_integrated || !is_of_interest(machine, gpu)) continue;
    const int64_t memory = std::max(gpu.vram_bytes.value_or(0), gpu.gtt_bytes.value_or(0));
    if (memory > 0) gpu.unified_memory_bytes = memory;
  }
  set_mask(machine, sources, visible);
}

}  // namespace cinnabar::hardware
