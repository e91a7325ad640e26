#include "cinnabar/hardware/setup_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cinnabar/hardware/access.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/libtorch_build.h"
#include "cinnabar/hardware/problem_text.h"

namespace cinnabar::hardware {

namespace {

// CUDA 13 starts at Turing; older cards have kernels in the builds for CUDA 12.6.
constexpr double kNewCudaCapability = 7.5;

bool is_candidate(const Gpu& gpu) {
  if (gpu.vendor == "nvidia") return true;
  if (!gpu.gfx) return false;
  return !gpu.is_integrated || gpu.compute_units.value_or(kUsefulUnits) >= kUsefulUnits;
}

const Gpu* best_gpu(const Machine& machine, const std::string& vendor) {
  const Gpu* best = nullptr;
  const auto rank = [](const Gpu& gpu) {
    return std::pair(!gpu.is_integrated, std::max(gpu.vram_bytes.value_or(0), gpu.unified_memory_bytes.value_or(0)));
  };
  for (const Gpu& gpu : machine.gpus) {
    if (!is_candidate(gpu) || (!vendor.empty() && gpu.vendor != vendor)) continue;
    if (best == nullptr || rank(gpu) > rank(*best)) best = &gpu;
  }
  return best;
}

class Planner {
 public:
  Planner(const Sources& sources, const std::optional<std::string>& forced)
      : sources_(sources), machine_(detect(sources)), table_(rocm_table()) {
    const std::string vendor = !forced ? "" : *forced == "rocm" ? "amd" : *forced == "cuda" ? "nvidia" : "none";
    gpu_ = best_gpu(machine_, vendor);
    plan_.build = forced ? *forced : gpu_ == nullptr ? "cpu" : gpu_->vendor == "amd" ? "rocm" : "cuda";
    is_forced_ = forced.has_value();
  }

  SetupPlan plan() {
    if (plan_.build == "rocm") plan_rocm();
    if (plan_.build == "cuda") plan_cuda();
    if (plan_.build == "cpu") plan_cpu();
    choose_sources();
    look_ahead();
    return std::move(plan_);
  }

 private:
  std::string chip() const { return gpu_ == nullptr ? "" : gpu_->gfx.value_or(""); }

  void warn(const std::string& text) {
    auto& list = plan_.warnings;
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }

  void plan_rocm() {
    if (gpu_ == nullptr) {
      variant_ = table_.wheels.front().rocm;
      plan_.reason = "you asked for it";
      plan_.is_covered = false;
      warn(
          "No AMD GPU that can train was found: with this build training runs on the processor. Without a flag set-up "
          "takes "
          "the build that fits the machine.");
      return;
    }
    const auto row = std::find_if(table_.wheels.begin(), table_.wheels.end(),
                                  [&](const RocmBuild& build) { return covers(build.chips, chip()); });
    if (row != table_.wheels.end()) {
      variant_ = row->rocm;
      archs_ = row->chips;
      plan_.reason = gpu_->name + " (" + chip() + ") has kernels in it";
    } else {
      plan_uncovered();
    }
    check_driver();
  }

  void plan_uncovered() {
    plan_.is_covered = false;
    variant_ = table_.wheels.front().rocm;
    archs_ = table_.wheels.front().chips;
    const auto relative = suggested_override(archs_, chip());
    const bool has_package = std::any_of(table_.devices.begin(), table_.devices.end(),
                                         [&](const RocmBuild& build) { return covers(build.chips, chip()); });
    const std::string packages = has_package ? "AMD's multi-arch packages have kernels for it: docs/doctor.md, \"A "
                                               "chip that no build covers\", shows the "
                                               "commands; then name the folder in CINNABAR_TORCH."
                                             : std::string("No public build has kernels for it.");
    if (relative) {
      plan_.reason =
          gpu_->name + " (" + chip() + ") has no kernels in it, and runs those of its relative under an override";
      const bool is_set = gpu_->effective_gfx && *gpu_->effective_gfx != chip();
      const std::string wish = "HSA_OVERRIDE_GFX_VERSION=" + (is_set ? override_text(*gpu_->effective_gfx) : *relative);
      warn(chip() + " is not in the public ROCm builds. " +
           (is_set ? wish + " is set, which lets it run its relative's kernels. "
                   : "Set " + wish + " before you start Cinnabar: it then runs its relative's kernels. ") +
           packages);
      return;
    }
    warn(chip() + " (" + gpu_->name + ") is not in the public ROCm builds, and no override helps. " + packages);
    if (is_forced_) {
      plan_.reason = "you asked for it";
    } else {
      plan_.build = "cpu";
      plan_.reason = "no public ROCm build runs on " + gpu_->name + " (" + chip() + ")";
    }
  }

  void check_driver() {
    const auto oldest = table_.oldest_driver.find(variant_);
    const auto& own = machine_.platform.amdgpu_version;
    if (plan_.build == "rocm" && own && oldest != table_.oldest_driver.end() && version_of(*own) < oldest->second) {
      warn("The driver package amdgpu " + *own + " is older than " + version_text(oldest->second) +
           ", the oldest that ROCm " + variant_ + " is tested with: update it if the GPU fails or hangs.");
    }
    const auto kernel = table_.first_kernel.find(chip());
    const Version running = version_of(machine_.platform.kernel);
    const bool is_package = own.has_value();
    if (kernel != table_.first_kernel.end() && !is_package && !machine_.platform.is_wsl && !running.empty() &&
        running < kernel->second) {
      warn("Linux " + machine_.platform.kernel + " is older than " + version_text(kernel->second) +
           ", the first that drives " + chip() + " without trouble: install a newer kernel, or AMD's driver package.");
    }
    if (machine_.platform.is_wsl) {
      warn(
          "Under WSL 2 the runtime of AMD's WSL package must take the place of the one in the build: after set-up, "
          "copy "
          "/opt/rocm/lib/libhsa-runtime64.so.1 over .deps/torch/lib/libhsa-runtime64.so.1 (not tried by us).");
    }
  }

  void plan_cuda() {
    variant_ = "cu130";
    plan_.reason = "you asked for it";
    if (gpu_ == nullptr) {
      plan_.is_covered = false;
      warn(
          "No NVIDIA GPU was found: with this build training runs on the processor. Without a flag set-up takes the "
          "build that "
          "fits the machine.");
      return;
    }
    const auto capability = number_of(gpu_->compute_capability.value_or(""));
    if (capability && *capability < kNewCudaCapability) variant_ = "cu126";
    archs_ = usual_cuda_archs(variant_ == "cu126" ? "12.6" : "13.0");
    plan_.reason = gpu_->name + " needs it";
    plan_.is_covered = !gpu_->compute_capability || covers_capability(archs_, *gpu_->compute_capability);
    if (!plan_.is_covered) warn(gpu_->name + " is older than what this libtorch has kernels for: it cannot train.");
  }

  void plan_cpu() {
    if (!plan_.reason.empty()) return;
    if (is_forced_) {
      plan_.reason = "you asked for it";
      if (const Gpu* gpu = best_gpu(machine_, "")) {
        warn(gpu->name + " is here and will not be used. Without a flag set-up takes the build for it.");
      }
      return;
    }
    if (machine_.platform.is_wsl && machine_.gpus.empty()) {
      plan_.reason = "no GPU can be seen from WSL 2";
      const ProblemText text = problem_text(machine_, {.code = "NO_GPU", .severity = "info"});
      warn(text.cause + " " + text.remedy + " Then run set-up again; without it, --use-rocm takes the build for AMD.");
      return;
    }
    plan_.reason = machine_.gpus.empty()
                       ? "no GPU of AMD or NVIDIA is in this machine: training runs on the processor, slowly"
                       : "the integrated GPU of this machine is slower than its processor";
  }

  void choose_sources() {
    for (const TorchSource& source : torch_sources()) {
      if (source.build == plan_.build) plan_.sources.push_back(source);
    }
    const std::string folder = plan_.build == "rocm" ? "rocm" + variant_ : variant_;
    std::stable_partition(plan_.sources.begin(), plan_.sources.end(),
                          [&](const TorchSource& source) { return source.address.ends_with("/" + folder); });
    const std::string pattern = plan_.sources.empty() ? "" : plan_.sources.front().version;
    const std::string release = pattern.substr(0, pattern.find('+'));
    const std::string local = plan_.build == "cpu" ? "cpu" : folder;
    plan_.version = release + "+" + local;
    plan_.download =
        plan_.build == "rocm"   ? "the torch wheel with its ROCm libraries, about 5 GB (25 GiB of disk while unpacking)"
        : plan_.build == "cuda" ? "the torch wheel and NVIDIA's libraries, about 4 GB (25 GiB of disk while unpacking)"
                                : "the torch wheel, about 200 MB";
  }

  // The machine as it will be with the new build: its problems are worth knowing now.
  void look_ahead() {
    Sources later = sources_;
    later.libtorch = {.is_present = true, .version = plan_.version, .arch_list = archs_};
    if (plan_.build == "rocm") later.libtorch.hip = variant_;
    if (plan_.build == "cuda") later.libtorch.cuda = variant_ == "cu126" ? "12.6" : "13.0";
    const Machine machine = detect(later);
    plan_.environment = environment_settings(machine, kShownCache);
    for (const Warning& warning : machine.warnings) {
      // Said above in the words of set-up, or without weight for the choice.
      if (warning.severity == "info" || warning.code == "GFX_NOT_IN_LIBTORCH" || warning.code == "BACKEND_MISMATCH")
        continue;
      const ProblemText text = problem_text(machine, warning);
      warn(warning.code + ": " + text.cause + (text.remedy.empty() ? "" : " " + text.remedy));
    }
  }

  const Sources& sources_;
  Machine machine_;
  RocmTable table_;
  const Gpu* gpu_ = nullptr;
  bool is_forced_ = false;
  std::string variant_{};
  std::vector<std::string> archs_{};
  SetupPlan plan_{};
};

}  // namespace

SetupPlan plan_setup(const Sources& sources, const std::optional<std::string>& forced) {
  return Planner(sources, forced).plan();
}

std::string plan_text(const SetupPlan& plan) {
  std::string text = "libtorch    " + plan.version + " (" + plan.build + " build): " + plan.reason + "\n";
  text += "Download    " + plan.download + ", from the first of\n";
  for (const TorchSource& source : plan.sources)
    text += "              " + (source.address.empty() ? "what pip is configured with" : source.address) + "\n";
  text += "Kept in     .deps/libtorch-VERSION-BUILD\n";
  if (plan.environment.empty()) {
    text += "Variables   none are needed\n";
  } else {
    text += "Variables   set for the engine's process alone\n";
    for (const EnvironmentSetting& setting : plan.environment) {
      text += "              " + setting.name + (setting.value ? "=" + *setting.value : " taken out") +
              "\n                " + setting.reason + "\n";
    }
  }
  if (plan.warnings.empty()) return text + "Warnings    none\n";
  text += "Warnings\n";
  for (const std::string& warning : plan.warnings) text += "  - " + warning + "\n";
  return text;
}

std::string plan_json(const SetupPlan& plan) {
  using nlohmann::ordered_json;
  ordered_json sources = ordered_json::array();
  for (const TorchSource& source : plan.sources)
    sources.push_back({{"version", source.version}, {"kind", source.kind}, {"address", source.address}});
  ordered_json environment = ordered_json::array();
  for (const EnvironmentSetting& setting : plan.environment) {
    environment.push_back({{"name", setting.name},
                           {"value", setting.value ? ordered_json(*setting.value) : ordered_json()},
                           {"reason", setting.reason}});
  }
  const ordered_json result = {{"build", plan.build},       {"version", plan.version},
                               {"reason", plan.reason},     {"download", plan.download},
                               {"sources", sources},        {"environment", environment},
                               {"warnings", plan.warnings}, {"chip_is_covered", plan.is_covered}};
  return result.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace cinnabar::hardware
