#include "cinnabar/hardware/problem_text.h"

#include <algorithm>
#include <functional>
#include <map>

#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

const Gpu& gpu_of(const Machine& machine, const Warning& warning) {
  static const Gpu kNone{.name = "the GPU"};
  if (!warning.gpu || *warning.gpu < 0 || static_cast<size_t>(*warning.gpu) >= machine.gpus.size()) return kNone;
  return machine.gpus[static_cast<size_t>(*warning.gpu)];
}

std::string chip_of(const Gpu& gpu) { return gpu.gfx.value_or(gpu.compute_capability.value_or("unknown chip")); }

// Kernels before which the driver does not know a family of chips (release notes of Linux).
std::string kernel_note(const Machine& machine, const Gpu& gpu) {
  const std::map<std::string, Version> kFirst = {{"RDNA3", {6, 1}}, {"RDNA3.5", {6, 11}}, {"RDNA4", {6, 12}}};
  const auto first = kFirst.find(gpu.arch.value_or(""));
  const Version own = version_of(machine.platform.kernel);
  if (first == kFirst.end() || own.empty() || own >= first->second) return {};
  return " Linux " + machine.platform.kernel + " is older than " + version_text(first->second) +
         ", the first that drives " + gpu.arch.value_or("") +
         " cards well: install a newer kernel, or AMD's driver package.";
}

std::string group_remedy(const Machine& machine, const Warning& warning) {
  const std::string group = warning.fix_group && !warning.fix_group->empty() ? *warning.fix_group : "render";
  const auto& pending = machine.pending_groups;
  if (std::find(pending.begin(), pending.end(), group) != pending.end())
    return "You are in the group " + group + " already, but not in this login: log out and in again (or restart).";
  if (machine.platform.is_container) {
    return "Start the container with --group-add " + group +
           " (when the host's group has another number inside, give the number that \"stat -c %g /dev/kfd\" shows).";
  }
  const std::string both = group == "video" ? "video" : group + ",video";
  return "sudo usermod -aG " + both + " $USER, then log out and in again.";
}

std::string nodes_remedy(const Machine& machine, const Warning& warning) {
  if (machine.platform.is_container) {
    const std::vector<std::string> usual = {"--device=/dev/kfd", "--device=/dev/dri", "--group-add=video",
                                            "--group-add=render"};
    return "Start the container with: " + joined(warning.fix_docker_args.empty() ? usual : warning.fix_docker_args) +
           " --ipc=host";
  }
  return "Load the driver (sudo modprobe amdgpu) and look at \"dmesg | grep -i -E 'amdgpu|kfd'\". A kernel built "
         "without "
         "CONFIG_HSA_AMD has no /dev/kfd: take your distribution's kernel, or AMD's driver package.";
}

std::string driver_remedy(const Machine& machine, const Gpu& gpu) {
  if (gpu.vendor == "nvidia") {
    return "Install NVIDIA's driver (the distribution's package), restart, and see that nvidia-smi lists the card." +
           std::string(gpu.driver.empty() ? "" : " Now bound: " + gpu.driver + ".");
  }
  if (gpu.driver == "vfio-pci")
    return "The card is set aside for a virtual machine (vfio-pci). Remove it from vfio's ids and restart to use it "
           "here.";
  if (gpu.driver == "radeon")
    return "The old driver radeon holds the card; training needs amdgpu, and chips that need radeon cannot train.";
  return "sudo modprobe amdgpu; if that fails, \"dmesg | grep amdgpu\" says why (missing firmware: install "
         "linux-firmware)." +
         kernel_note(machine, gpu);
}

std::string module_remedy(const Machine& machine) {
  std::string note;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.vendor == "amd" && note.empty()) note = kernel_note(machine, gpu);
  }
  return "sudo modprobe amdgpu; look into /etc/modprobe.d for a line that blacklists it." + note;
}

std::string torch_of(const Machine& machine) {
  const Libtorch& torch = machine.libtorch;
  const std::string build = torch.hip ? "ROCm " + *torch.hip : torch.cuda ? "CUDA " + *torch.cuda : "CPU";
  return "libtorch " + torch.version.value_or("(version unknown)") + " (" + build + " build)";
}

ProblemText missing_kernels(const Machine& machine, const Warning& warning) {
  const Gpu& gpu = gpu_of(machine, warning);
  ProblemText text{.catalogue = {1, 2}};
  if (gpu.vendor == "nvidia") {
    text.cause = torch_of(machine) + " has no kernels for " + gpu.name + " (compute capability " +
                 gpu.compute_capability.value_or("unknown") + "); it has " + joined(machine.libtorch.arch_list) + ".";
    text.remedy =
        "Take a CUDA build that has them: older cards need the index of an older CUDA, e.g. "
        "CINNABAR_TORCH_INDEX=https://download.pytorch.org/whl/cu126 ./cinnabar setup --use-cuda";
    return text;
  }
  text.cause = torch_of(machine) + " has no kernels for " + gpu.effective_gfx.value_or(chip_of(gpu)) + " (" + gpu.name +
               "): every computation would end in \"invalid device function\".";
  const std::string other =
      "take a build that has " + chip_of(gpu) +
      ": AMD's multi-arch packages have nearly every chip (docs/doctor.md, \"A chip that no build "
      "covers\")";
  if (warning.suggest_override) {
    const std::string name = machine.gpus.size() > 1 && gpu.kfd_node
                                 ? "HSA_OVERRIDE_GFX_VERSION_" + std::to_string(*gpu.kfd_node)
                                 : std::string("HSA_OVERRIDE_GFX_VERSION");
    text.remedy = "export " + name + "=" + *warning.suggest_override +
                  " before you start Cinnabar: the chip then runs the "
                  "kernels of its nearest relative. Cleaner: " +
                  other + ".";
  } else {
    text.remedy = "No related chip's kernels would run here, so no override helps: " + other + ".";
  }
  return text;
}

ProblemText mismatch(const Machine& machine, const Warning& warning) {
  const Gpu& gpu = gpu_of(machine, warning);
  const bool is_amd = gpu.vendor == "amd";
  const std::string command = is_amd ? "./cinnabar setup --use-rocm" : "./cinnabar setup --use-cuda";
  ProblemText text{.cause = torch_of(machine) + " cannot use " + gpu.name + (is_amd ? " (AMD)" : " (NVIDIA)") + ".",
                   .remedy = "Get the build for it: " + command,
                   .catalogue = {23}};
  if (machine.default_gpu) text.remedy += " (only if you want to train on this one instead)";
  return text;
}

using Writer = std::function<ProblemText(const Machine&, const Warning&)>;

void add_access_texts(std::map<std::string, Writer>& writers) {
  writers["NO_GPU"] = [](const Machine& m, const Warning&) {
    if (m.platform.is_wsl) {
      return ProblemText{
          "No GPU can be seen from WSL 2, so training would run on the processor. Whether one is in the machine only "
          "Windows knows.",
          "AMD: a current Adrenalin driver in Windows and ROCm for WSL here; rocminfo then lists the card. NVIDIA: the "
          "driver in Windows alone; nvidia-smi then lists it."};
    }
    return ProblemText{"No GPU of AMD or NVIDIA is in this machine: training runs on the processor, which is slow.",
                       "Nothing need be done. Small models and the embedded one train here, too."};
  };
  writers["AMDGPU_MODULE_NOT_LOADED"] = [](const Machine& m, const Warning& w) {
    if (w.severity == "info") {
      return ProblemText{"The driver amdgpu is not loaded, as is right without an AMD GPU.", ""};
    }
    return ProblemText{
        "The kernel driver amdgpu is not loaded, so the AMD GPU cannot be used.", module_remedy(m), {22}};
  };
  writers["GPU_WITHOUT_DRIVER"] = [](const Machine& m, const Warning& w) {
    const Gpu& gpu = gpu_of(m, w);
    const std::string bound = gpu.driver.empty() ? "no driver is bound to it" : gpu.driver + " is bound to it";
    return ProblemText{gpu.name + " (" + gpu.bdf.value_or("no address") + ") is on the bus, but " + bound + ".",
                       driver_remedy(m, gpu),
                       {22}};
  };
  writers["KFD_MISSING"] = [](const Machine& m, const Warning& w) {
    return ProblemText{m.platform.is_container
                           ? "The compute device /dev/kfd is not in this container, so nothing can run on the GPU."
                           : "The compute device /dev/kfd does not exist although the driver amdgpu is loaded.",
                       nodes_remedy(m, w),
                       {22}};
  };
  writers["KFD_PERMISSION_DENIED"] = [](const Machine& m, const Warning& w) {
    return ProblemText{
        "This user may not open /dev/kfd (group " + w.fix_group.value_or("render") + ").", group_remedy(m, w), {21}};
  };
}

void add_node_texts(std::map<std::string, Writer>& writers) {
  writers["RENDER_NODE_MISSING"] = [](const Machine& m, const Warning& w) {
    const Gpu& gpu = gpu_of(m, w);
    const std::string node =
        gpu.render_minor ? "/dev/dri/renderD" + std::to_string(*gpu.render_minor) : "its render node";
    return ProblemText{
        "The device file " + node + " of " + gpu.name + " does not exist here.", nodes_remedy(m, w), {22}};
  };
  writers["RENDER_NODE_PERMISSION_DENIED"] = [](const Machine& m, const Warning& w) {
    const Gpu& gpu = gpu_of(m, w);
    const std::string node =
        gpu.render_minor ? "/dev/dri/renderD" + std::to_string(*gpu.render_minor) : "its render node";
    return ProblemText{
        "This user may not open " + node + " of " + gpu.name + " (group " + w.fix_group.value_or("render") + ").",
        group_remedy(m, w),
        {21}};
  };
  writers["HSA_INIT_FAILED"] = [](const Machine& m, const Warning&) {
    for (const auto& [name, value] : m.environment) {
      if (name.starts_with("HSA_OVERRIDE_GFX_VERSION") && !gfx_of_override(value)) {
        return ProblemText{
            name + " = \"" + value + "\" is not MAJOR.MINOR.STEP: the ROCm runtime refuses to start with it.",
            "unset " + name + ", or write it like 10.3.0",
            {3}};
      }
    }
    return ProblemText{
        "The ROCm runtime cannot start, although driver and device files are there.",
        "Run rocminfo to see its own words. Usual causes: another ROCm's libraries in LD_LIBRARY_PATH (unset it), a "
        "low "
        "limit of locked memory (ulimit -l unlimited), in a container missing --ipc=host and --security-opt "
        "seccomp=unconfined, or a GPU that hangs since an earlier crash (restart).",
        {36}};
  };
  writers["ROCM_USERSPACE_MISSING"] = [](const Machine&, const Warning&) {
    return ProblemText{
        "No ROCm tools are installed. None are needed: libtorch's ROCm build brings its own libraries, and "
        "the driver alone was asked for this report.",
        ""};
  };
  writers["WSL_LIMITED_MONITORING"] = [](const Machine&, const Warning&) {
    return ProblemText{"Under WSL 2 the GPU belongs to Windows: use, temperature and power cannot be read here.",
                       "Keep AMD's Windows driver current; watch temperatures in Windows.",
                       {37}};
  };
  writers["TOOL_OUTPUT_INVALID"] = [](const Machine&, const Warning& w) {
    return ProblemText{w.tool.value_or("a tool") +
                           " failed, or printed what cannot be read; the kernel's own files were "
                           "used instead.",
                       "Run it by hand to see why; training does not need it."};
  };
}

void add_chip_texts(std::map<std::string, Writer>& writers) {
  writers["INTEGRATED_GPU_PRESENT"] = [](const Machine& m, const Warning& w) {
    return ProblemText{
        "The integrated " + gpu_of(m, w).name +
            " is visible beside the card: libtorch then avoids its fast "
            "matrix library, and programs may pick the wrong one.",
        "Nothing need be done for Cinnabar: its engine gets a mask that hides it. For other programs: disable "
        "it in the BIOS.",
        {17, 26}};
  };
  writers["INTEGRATED_GPU_FIRST"] = [](const Machine& m, const Warning& w) {
    return ProblemText{
        "The integrated " + gpu_of(m, w).name +
            " is device 0, so programs that take the first device train on "
            "it, or crash.",
        "Nothing need be done for Cinnabar: its engine gets a mask that hides it. For other programs: plug the "
        "monitor into the card, or disable the integrated GPU in the BIOS.",
        {26}};
  };
  writers["UNIFIED_MEMORY"] = [](const Machine& m, const Warning& w) {
    const Gpu& gpu = gpu_of(m, w);
    return ProblemText{gpu.name + " shares the system's memory: " +
                           memory_text(gpu.unified_memory_bytes.value_or(gpu.vram_bytes.value_or(0))) +
                           " can be used, at the speed of that memory.",
                       "To give it more: a larger carve-out in the BIOS, or the kernel options amdgpu.gttsize and "
                       "ttm.pages_limit; a kernel of 6.18.4 or later for Ryzen AI Max.",
                       {35}};
  };
  writers["GFX_NOT_IN_LIBTORCH"] = missing_kernels;
  writers["BACKEND_MISMATCH"] = mismatch;
  writers["GFX_OVERRIDE_ACTIVE"] = [](const Machine& m, const Warning& w) {
    const Gpu& gpu = gpu_of(m, w);
    return ProblemText{gpu.name + " (" + chip_of(gpu) + ") runs as " + gpu.effective_gfx.value_or("?") +
                           ", because HSA_OVERRIDE_GFX_VERSION is set.",
                       ""};
  };
  writers["GFX_OVERRIDE_UNNECESSARY"] = [](const Machine& m, const Warning& w) {
    return ProblemText{"HSA_OVERRIDE_GFX_VERSION is set, but this libtorch has kernels for " + chip_of(gpu_of(m, w)) +
                           " itself: the override only costs speed and may crash.",
                       "unset HSA_OVERRIDE_GFX_VERSION",
                       {4}};
  };
  writers["GFX_OVERRIDE_FAMILY_MISMATCH"] = [](const Machine& m, const Warning& w) {
    const Gpu& gpu = gpu_of(m, w);
    return ProblemText{"HSA_OVERRIDE_GFX_VERSION makes " + gpu.name + " (" + chip_of(gpu) + ") pass for " +
                           gpu.effective_gfx.value_or("?") +
                           ", a chip of another generation: it cannot run its instructions.",
                       "unset HSA_OVERRIDE_GFX_VERSION, or give a version that begins with " +
                           override_text(chip_of(gpu)).substr(0, override_text(chip_of(gpu)).find('.')) + ".",
                       {3, 4}};
  };
  writers["ATTENTION_NEEDS_EXPERIMENTAL_FLAG"] = [](const Machine& m, const Warning& w) {
    return ProblemText{"Fused attention on " + chip_of(gpu_of(m, w)) + " is behind a switch of libtorch.",
                       "Nothing need be done for Cinnabar: its engine gets TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1.",
                       {18}};
  };
  writers["ATTENTION_MATH_ONLY"] = [](const Machine& m, const Warning& w) {
    return ProblemText{
        "No fused attention exists for " + gpu_of(m, w).effective_gfx.value_or(chip_of(gpu_of(m, w))) +
            ": plain attention keeps a matrix of tokens by tokens for every head.",
        "Cinnabar's own attention in pieces is taken, which needs little memory. Above 512 px halve the batch and "
        "switch on --gradient_checkpointing.",
        {5, 19}};
  };
  writers["BF16_EMULATED"] = [](const Machine& m, const Warning& w) {
    return ProblemText{
        gpu_of(m, w).arch.value_or("This chip") + " has no bf16 arithmetic: it works, slowly.",
        "Use --mixed_precision fp16, and keep the autoencoder in fp32 (--no_half_vae) where it gives black "
        "pictures.",
        {20}};
  };
  writers["FP8_STORAGE_ONLY"] = [](const Machine& m, const Warning& w) {
    return ProblemText{"The preset of " + gpu_of(m, w).name + " asks for fp8, and the chip has no fp8 arithmetic.",
                       "fp8 is taken as storage of the frozen weights, and the computation runs in bf16."};
  };
}

void add_setting_texts(std::map<std::string, Writer>& writers) {
  writers["SMALL_BAR"] = [](const Machine& m, const Warning& w) {
    const Gpu& gpu = gpu_of(m, w);
    return ProblemText{"The processor reaches only " + memory_text(gpu.visible_vram_bytes.value_or(0)) + " of the " +
                           memory_text(gpu.vram_bytes.value_or(0)) + " of " + gpu.name + ": loading is slow.",
                       "Switch on \"Above 4G Decoding\" and \"Resizable BAR\" (Smart Access Memory) in the BIOS.",
                       {33}};
  };
  writers["LOW_FREE_VRAM"] = [](const Machine& m, const Warning& w) {
    const Gpu& gpu = gpu_of(m, w);
    const int64_t left = gpu.vram_bytes.value_or(0) - gpu.vram_used_bytes.value_or(0);
    return ProblemText{"Other programs hold most of the memory of " + gpu.name + ": " +
                           (gpu.is_integrated ? std::string("little") : memory_text(std::max<int64_t>(left, 0))) +
                           " is free.",
                       "Close them (browsers, games, other trainers; \"amd-smi process\" or nvidia-smi lists them).",
                       {5}};
  };
  writers["MULTI_GPU_IOMMU_NOT_PT"] = [](const Machine&, const Warning&) {
    return ProblemText{
        "Several AMD cards without the kernel option iommu=pt: training on more than one may hang in its first "
        "exchange.",
        "Add iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub, sudo update-grub, restart. At once: "
        "NCCL_P2P_DISABLE=1. Training on one card is not concerned.",
        {29}};
  };
  writers["EXPANDABLE_SEGMENTS_RISK"] = [](const Machine&, const Warning&) {
    return ProblemText{
        "The allocator options expandable_segments:True and max_split_size_mb together were seen to zero live "
        "memory on ROCm 7.14 and later: weights become 0 without a word.",
        "Remove expandable_segments from PYTORCH_HIP_ALLOC_CONF (or PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF).",
        {8}};
  };
}

const std::map<std::string, Writer>& writers() {
  static const std::map<std::string, Writer> kWriters = [] {
    std::map<std::string, Writer> all;
    add_access_texts(all);
    add_node_texts(all);
    add_chip_texts(all);
    add_setting_texts(all);
    return all;
  }();
  return kWriters;
}

}  // namespace

ProblemText problem_text(const Machine& machine, const Warning& warning) {
  const auto writer = writers().find(warning.code);
  if (writer == writers().end()) return {.cause = warning.code, .remedy = ""};
  return writer->second(machine, warning);
}

std::vector<std::string> problem_codes() {
  std::vector<std::string> codes;
  for (const auto& [code, writer] : writers()) codes.push_back(code);
  return codes;
}

}  // namespace cinnabar::hardware
