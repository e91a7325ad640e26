#include "cinnabar/hardware/environment.h"

#include <algorithm>

#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

bool any_gpu(const Machine& machine, bool (*fits)(const Gpu&)) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(), fits);
}

// One process a device (a launcher started several): all discrete cards stay visible, the default one first.
std::string mask_for_several(const Machine& machine) {
  std::string list = std::to_string(*machine.gpus[static_cast<size_t>(*machine.default_gpu)].amd_index);
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    const bool is_further = static_cast<int>(i) != *machine.default_gpu && gpu.is_usable && !gpu.is_integrated;
    if (is_further && gpu.amd_index) list += "," + std::to_string(*gpu.amd_index);
  }
  return list;
}

struct Settings {
  const Machine& machine;
  std::vector<EnvironmentSetting> list{};

  void set(const std::string& name, const std::string& value, const std::string& reason) {
    const auto users = machine.environment.find(name);
    if (users != machine.environment.end() && !users->second.empty()) {
      list.push_back({name, users->second, "your own value; ours would be " + value + ": " + reason, true});
    } else {
      list.push_back({name, value, reason});
    }
  }

  void remove(const std::string& name, const std::string& reason) {
    if (machine.environment.contains(name)) list.push_back({name, std::nullopt, reason});
  }
};

void add_rocm(Settings& settings, const std::string& cache_folder) {
  const Machine& machine = settings.machine;
  const bool has_consumer_card = any_gpu(machine, [](const Gpu& gpu) { return gpu.gfx && is_rdna(*gpu.gfx); });
  const std::string folder =
      cache_folder + "/miopen-" + (machine.libtorch.hip ? *machine.libtorch.hip : std::string("rocm"));
  if (has_consumer_card) {
    settings.set(
        "MIOPEN_FIND_MODE", "2",
        "convolutions start at once; the default search takes minutes for each picture size on consumer cards");
  }
  settings.set("MIOPEN_USER_DB_PATH", folder + "/db",
               "what was found for a shape is kept, apart for each ROCm version");
  settings.set("MIOPEN_CUSTOM_CACHE_DIR", folder + "/cache",
               "compiled kernels survive, in a folder that can be written");
  settings.set("MIOPEN_LOG_LEVEL", "3", "hides warnings about workspace that mean nothing");
  const bool has_flagged = any_gpu(machine, [](const Gpu& gpu) {
    const auto chip = parse_gfx(gpu.effective_gfx.value_or(gpu.gfx.value_or("")));
    return chip && chip->major >= 11;
  });
  if (has_flagged) {
    settings.set("TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "1",
                 "lets RDNA3 and later use fused attention: much less memory, several times faster");
  }
  const bool is_several = machine.environment.contains("WORLD_SIZE");
  for (const auto& [name, value] : machine.visible_devices_env) {
    settings.set(name, is_several ? mask_for_several(machine) : value,
                 "the card that trains is device 0, and no integrated GPU is visible beside it");
  }
  settings.remove("ROCBLAS_TENSILE_LIBPATH", "kernels must be those that came with libtorch");
  settings.remove("HIPBLASLT_TENSILE_LIBPATH", "kernels must be those that came with libtorch");
}

}  // namespace

std::vector<EnvironmentSetting> environment_settings(const Machine& machine, const std::string& cache_folder) {
  Settings settings{.machine = machine};
  if (machine.libtorch.hip) add_rocm(settings, cache_folder);
  if (machine.libtorch.cuda) {
    settings.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID", "devices are numbered as nvidia-smi numbers them");
  }
  return settings.list;
}

}  // namespace cinnabar::hardware
