// What is in a machine and what it can do: the one value that doctor, set-up, the engine's environment, advice and
// forecasts read. Unknown numbers are empty, never 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::hardware {

struct Precisions {
  std::string bf16 = "native";  // native (matrix units), emulated (works, slow), none
  std::string fp8 = "none";  // none, fnuz (CDNA3), ocp (RDNA4, CDNA4, Ada and later); storage in fp8 works everywhere
};

struct Gpu {
  std::string name;
  std::string vendor;                // "amd", "nvidia"
  std::optional<std::string> bdf{};  // PCI address 0000:03:00.0
  std::optional<int64_t> device_id{};
  std::optional<int64_t> revision{};
  std::optional<std::string> gfx{};            // the true chip, e.g. gfx1031
  std::optional<std::string> effective_gfx{};  // what the runtime sees under HSA_OVERRIDE_GFX_VERSION
  std::optional<std::string> arch{};           // RDNA3, CDNA2, Ada, ...
  std::optional<std::string> compute_capability{};
  std::optional<int64_t> compute_units{};
  std::optional<int64_t> wave_size{};
  std::optional<int64_t> vram_bytes{};
  std::optional<int64_t> vram_used_bytes{};
  std::optional<int64_t> visible_vram_bytes{};  // reachable by the CPU
  std::optional<int64_t> gtt_bytes{};           // system memory that the GPU may use
  std::optional<int64_t> gtt_used_bytes{};
  std::optional<int64_t> unified_memory_bytes{};  // of an integrated GPU that trains: the larger of the two
  bool is_integrated = false;
  Precisions precisions{};
  std::string sdpa;  // fused, fused-with-flag, math-only
  std::optional<double> utilisation_percent{};
  std::optional<double> temperature_c{};  // edge, else hotspot
  std::optional<double> power_w{};

  std::string driver{};                   // kernel driver that is bound; empty: none, or not known
  std::optional<int64_t> kfd_node{};      // of the AMD compute driver
  std::optional<int64_t> amd_index{};     // number among AMD GPUs as the runtime counts, when nothing is masked
  std::optional<int64_t> vendor_index{};  // number that nvidia-smi gives
  std::optional<int64_t> render_minor{};  // /dev/dri/renderD<minor>
  bool is_seen_by_runtime = false;        // in the topology of the compute driver, or in rocminfo
  bool is_masked = false;                 // hidden by the user's *_VISIBLE_DEVICES
  bool is_accessible = false;             // driver bound and device nodes open
  bool is_usable = false;                 // accessible, not masked, and of the vendor that libtorch was built for
  bool has_display = false;
};

struct Platform {
  bool is_wsl = false;
  bool is_container = false;
  bool is_amdgpu_loaded = false;
  std::optional<std::string> amdgpu_version{};  // of the DKMS driver only
  std::optional<std::string> rocm_version{};
  bool has_rocm_tools = false;  // any of rocminfo, amd-smi, rocm-smi, /opt/rocm
  std::string system_name{};    // "Ubuntu 24.04.2 LTS"
  std::string kernel{};         // "6.11.0-21-generic"
};

struct Host {
  std::string cpu_name{};
  std::optional<int64_t> logical_cpus{};        // that this process may use
  std::optional<double> cpu_limit{};            // of the control group, in CPUs
  std::vector<std::string> cpu_features{};      // those that matter: avx2, avx512f, avx512_bf16, amx_bf16
  std::optional<int64_t> memory_bytes{};        // of the machine
  std::optional<int64_t> available_bytes{};     // free or reclaimable now
  std::optional<int64_t> memory_limit_bytes{};  // of the control group, when below memory_bytes
};

struct Libtorch {
  bool is_present = false;
  std::optional<std::string> version{};
  std::optional<std::string> hip{};      // "7.2": a ROCm build
  std::optional<std::string> cuda{};     // "13.0": a CUDA build
  std::vector<std::string> arch_list{};  // architectures it has kernels for; empty: unknown, or a CPU build
};

struct Warning {
  std::string code;
  std::string severity;      // info, warning, error
  std::optional<int> gpu{};  // index into Machine::gpus
  // Only for the codes that carry them:
  std::optional<std::string> fix_group{};
  std::vector<std::string> fix_docker_args{};
  std::map<std::string, std::string> set_env{};
  std::optional<std::string> tool{};
  std::optional<std::string> suggest_override{};  // of GFX_NOT_IN_LIBTORCH; empty there: no override helps
};

struct Recommendation {
  std::string source = "cpu";  // seed-table, tier, tier-unified, cpu
  int batch_size = 1;
  int gradient_accumulation = 1;
  std::string preset_precision = "fp32";
  std::string effective_compute_precision = "fp32";  // fp8 replaced by bf16 on chips without fp8 arithmetic
  int max_params_billion = 1;                        // with quantised or offloaded frozen weights
};

struct Machine {
  std::string case_name = "this-machine";
  std::string backend = "cpu";  // what can train now: rocm, cuda, cpu
  Platform platform{};
  Host host{};
  Libtorch libtorch{};
  std::vector<Gpu> gpus{};  // others first, then AMD in the order of the runtime
  std::optional<int> default_gpu{};
  std::map<std::string, std::string> visible_devices_env{};  // empty: no mask is needed
  std::vector<Warning> warnings{};
  Recommendation recommendation{};
  std::map<std::string, std::string> environment{};  // the variables that matter, as the user set them
  std::vector<std::string> pending_groups{};         // groups of the user that count after the next login only
};

}  // namespace cinnabar::hardware
