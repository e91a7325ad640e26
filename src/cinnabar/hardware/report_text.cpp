#include <algorithm>

#include "cinnabar/hardware/advice.h"
#include "cinnabar/hardware/attention_support.h"
#include "cinnabar/hardware/environment.h"
#include "cinnabar/hardware/problem_text.h"
#include "cinnabar/hardware/report.h"
#include "cinnabar/hardware/rules.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

std::string row(const std::string& label, const std::string& text) {
  return label + std::string(label.size() < 12 ? 12 - label.size() : 1, ' ') + text + "\n";
}

std::string short_number(double value) {
  const std::string text = formatted("%.1f", value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string system_text(const Machine& machine) {
  const Platform& platform = machine.platform;
  return joined({platform.system_name.empty() ? "Linux" : platform.system_name,
                 platform.kernel.empty() ? "" : "kernel " + platform.kernel, platform.is_wsl ? "WSL 2" : "",
                 platform.is_container ? "in a container" : ""},
                ", ");
}

std::string host_text(const Host& host) {
  const std::string cpus = host.logical_cpus ? std::to_string(*host.logical_cpus) + " threads" : "";
  const std::string limit = host.cpu_limit ? "limited to " + short_number(*host.cpu_limit) + " CPUs" : "";
  const std::string memory = host.memory_bytes ? memory_text(*host.memory_bytes) + " memory" : "";
  const std::string most = host.memory_limit_bytes ? "limited to " + memory_text(*host.memory_limit_bytes) : "";
  const std::string left = host.available_bytes ? memory_text(*host.available_bytes) + " free" : "";
  return joined({host.cpu_name, joined(host.cpu_features, " "), cpus, limit, memory, most, left}, ", ");
}

std::string driver_text(const Platform& platform) {
  const std::string loaded = platform.is_amdgpu_loaded ? "amdgpu " + platform.amdgpu_version.value_or("(of the kernel)")
                                                       : std::string("amdgpu is not loaded");
  return joined({loaded, platform.rocm_version ? "ROCm " + *platform.rocm_version : "no ROCm installed"}, ", ");
}

std::string torch_text(const Libtorch& torch) {
  if (!torch.is_present) return "not found; run ./cinnabar setup";
  const std::string build = torch.hip ? "ROCm " + *torch.hip : torch.cuda ? "CUDA " + *torch.cuda : "CPU build";
  const std::string kernels = torch.arch_list.empty() ? "" : "kernels for " + joined(torch.arch_list, " ");
  return joined({torch.version.value_or("version unknown"), build, kernels}, ", ");
}

std::string memory_of(const Gpu& gpu) {
  if (gpu.unified_memory_bytes) return memory_text(*gpu.unified_memory_bytes) + " shared with the system";
  if (!gpu.vram_bytes) return "memory unknown";
  if (!gpu.vram_used_bytes) return memory_text(*gpu.vram_bytes);
  return memory_text(*gpu.vram_bytes) + " (" +
         memory_text(std::max<int64_t>(*gpu.vram_bytes - *gpu.vram_used_bytes, 0)) + " free)";
}

std::string abilities(const Gpu& gpu) {
  const std::string attention = gpu.sdpa == "fused"             ? "fused attention"
                                : gpu.sdpa == "fused-with-flag" ? "fused attention (switched on for the engine)"
                                                                : "no fused attention (own, in pieces)";
  const std::string fp8 =
      gpu.precisions.fp8 == "none" ? "fp8 as storage only" : "fp8 arithmetic (" + gpu.precisions.fp8 + ")";
  return "fp32, fp16, bf16 " + gpu.precisions.bf16 + ", " + fp8 + ", " + attention;
}

std::string sensors(const Gpu& gpu) {
  return joined({gpu.utilisation_percent ? short_number(*gpu.utilisation_percent) + " % busy" : "",
                 gpu.temperature_c ? short_number(*gpu.temperature_c) + " C" : "",
                 gpu.power_w ? short_number(*gpu.power_w) + " W" : ""},
                ", ");
}

std::string gpu_text(const Machine& machine, size_t index) {
  const Gpu& gpu = machine.gpus[index];
  std::string chip = gpu.gfx.value_or(gpu.compute_capability.value_or("unknown chip"));
  if (gpu.effective_gfx && gpu.gfx && *gpu.effective_gfx != *gpu.gfx) chip += " running as " + *gpu.effective_gfx;
  const std::string units = gpu.compute_units ? std::to_string(*gpu.compute_units) + " compute units" : "";
  std::string text =
      row("GPU " + std::to_string(index), joined({gpu.name + (gpu.is_integrated ? " (integrated)" : ""), chip,
                                                  gpu.arch.value_or(""), memory_of(gpu), units, gpu.bdf.value_or("")},
                                                 ", "));
  text += row("", abilities(gpu));
  if (const std::string now = sensors(gpu); !now.empty()) text += row("", now);
  return text;
}

// What the engine will take, with the variables that it gets.
std::string attention_text(const Machine& machine) {
  if (!machine.default_gpu) return {};
  Machine engine = machine;
  for (const EnvironmentSetting& setting : environment_settings(machine, kShownCache)) {
    if (setting.value) engine.environment[setting.name] = *setting.value;
  }
  return row("Attention", advise_attention(engine, &engine.gpus[static_cast<size_t>(*engine.default_gpu)]).text);
}

std::string verdict(const Machine& machine) {
  if (machine.default_gpu) {
    const Gpu& gpu = machine.gpus[static_cast<size_t>(*machine.default_gpu)];
    const bool is_covered = std::none_of(machine.warnings.begin(), machine.warnings.end(), [&](const Warning& warning) {
      return warning.severity == "error" && warning.gpu == machine.default_gpu &&
             warning.code != "INTEGRATED_GPU_FIRST";
    });
    const std::string where = "GPU " + std::to_string(*machine.default_gpu) + ", " + gpu.name + ", through " +
                              (machine.backend == "rocm" ? "ROCm" : "CUDA");
    return is_covered ? "Training runs on " + where + "."
                      : "Training would be tried on " + where + ", and fail: see below.";
  }
  if (!machine.libtorch.is_present) return "Nothing can train: libtorch is missing.";
  if (is_blocked(machine)) return "A GPU is here and cannot be used: training would run on the processor. See below.";
  return "Training runs on the processor.";
}

std::string advice_text(const Machine& machine) {
  const Recommendation& advice = machine.recommendation;
  std::string precision = advice.preset_precision;
  if (advice.effective_compute_precision != advice.preset_precision)
    precision += " as storage, computing in " + advice.effective_compute_precision;
  std::string text = "\nSettings that fit (--auto takes them where you give none)\n";
  text += row("  LoRA", "batch " + std::to_string(advice.batch_size) + ", accumulation " +
                            std::to_string(advice.gradient_accumulation) + ", " + precision + ", models up to " +
                            std::to_string(advice.max_params_billion) +
                            " billion parameters (the largest with quantised or offloaded weights)");
  for (const FamilyAdvice& family : family_advice(machine))
    text += "  " + family.family + ": " + family.settings + "\n";
  return text;
}

std::string environment_text(const Machine& machine) {
  const std::vector<EnvironmentSetting> settings = environment_settings(machine, kShownCache);
  if (settings.empty()) return {};
  std::string text = "\nVariables that the engine gets\n";
  for (const EnvironmentSetting& setting : settings) {
    text += "  " + setting.name + (setting.value ? "=" + *setting.value : " taken out") + "\n      " + setting.reason +
            "\n";
  }
  return text;
}

int weight(const Warning& warning) { return warning.severity == "error" ? 0 : warning.severity == "warning" ? 1 : 2; }

std::string problems_text(const Machine& machine) {
  if (machine.warnings.empty()) return "\nNo problems found.\n";
  std::vector<Warning> sorted = machine.warnings;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Warning& a, const Warning& b) { return weight(a) < weight(b); });
  std::string text = "\nProblems and notes\n";
  for (const Warning& warning : sorted) {
    const ProblemText words = problem_text(machine, warning);
    const std::string where = warning.gpu ? ", GPU " + std::to_string(*warning.gpu) : "";
    text += "  " + warning.severity + " " + warning.code + where + "\n      " + words.cause + "\n";
    if (!words.remedy.empty()) text += "      To do: " + words.remedy + "\n";
  }
  return text;
}

}  // namespace

std::string report_text(const Machine& machine) {
  std::string text = row("System", system_text(machine));
  if (const std::string host = host_text(machine.host); !host.empty()) text += row("Processor", host);
  text += row("Driver", driver_text(machine.platform));
  text += row("libtorch", torch_text(machine.libtorch));
  for (size_t i = 0; i < machine.gpus.size(); ++i) text += gpu_text(machine, i);
  if (machine.gpus.empty()) text += row("GPU", "none of AMD or NVIDIA");
  text += attention_text(machine);
  text += "\n" + verdict(machine) + "\n";
  text += problems_text(machine);
  text += advice_text(machine);
  text += environment_text(machine);
  return text;
}

}  // namespace cinnabar::hardware
