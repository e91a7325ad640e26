#include <array>

#include "cinnabar/hardware/failures.h"

namespace cinnabar::hardware {

namespace {

// In the order of the catalogue. When several rows fit, failures.cpp takes the one with the longer text.
constexpr std::array kFailureRows{
    FailureRow{
        1, "no kernels for this chip",
        "invalid device function|hipErrorInvalidDeviceFunction|hipErrorNoBinaryForGpu|Unable to find code object|"
        "no kernel image is available|hipError&(98)|hipError&(209)|HIP error 98|HIP error 209",
        "libtorch has no kernels for this GPU's chip.",
        "Run \"cinnabar doctor\": it names the chip, the chips that this libtorch has, and the override "
        "(HSA_OVERRIDE_GFX_VERSION of the same family) or the build that helps.",
        false, "GFX_NOT_IN_LIBTORCH"},
    FailureRow{2, "no matrix library for this chip",
               "TensileLibrary|rocBLAS error&Cannot read|rocblas/library|Cannot read&Illegal seek for GPU arch",
               "rocBLAS has no kernels for this chip, or its folder of kernels did not come along.",
               "Run \"cinnabar doctor\" for the build or override that fits the chip. If only .so files of libtorch "
               "were copied, "
               "copy its lib/rocblas/library and lib/hipblaslt/library, too."},
    FailureRow{3, "an override that the chip cannot run", "HSA_STATUS_ERROR_INVALID_ISA|INVALID_ISA|0x100f",
               "HSA_OVERRIDE_GFX_VERSION names an instruction set that this chip does not have.",
               "unset HSA_OVERRIDE_GFX_VERSION, or give the version that \"cinnabar doctor\" proposes.", false,
               "GFX_OVERRIDE_FAMILY_MISMATCH"},
    FailureRow{
        4, "memory access fault on the GPU",
        "Memory access fault by GPU|Page not present or supervisor privilege|illegal memory access|"
        "hipErrorIllegalAddress|HIP error 700",
        "A kernel touched memory that is not its own: a fault of a kernel, of an override, of mixed ROCm libraries, or "
        "of "
        "the card (overclocked, undervolted, damaged).",
        "Start again from the last save (cinnabar runs resume). If it comes back: no override, default clocks, "
        "libtorch and "
        "driver of neighbouring versions, HSA_ENABLE_SDMA=0; AMD_SERIALIZE_KERNEL=3 makes the log name the kernel.",
        false, "GFX_OVERRIDE_UNNECESSARY"},
    FailureRow{
        5, "GPU memory full",
        "HIP out of memory|CUDA out of memory|hipErrorOutOfMemory|hipMalloc&out of memory|"
        "Tried to allocate&total capacity",
        "The GPU's memory is full: the run needs more than is free.",
        "Most effective first: --gradient_checkpointing, a smaller --train_batch_size (with "
        "--gradient_accumulation_steps "
        "for the same effect), --cache_latents, a smaller --resolution. Close other programs that use the GPU. On AMD, "
        "MIOPEN_FIND_MODE=2 keeps convolutions from taking large workspaces.",
        false, "LOW_FREE_VRAM|ATTENTION_MATH_ONLY"},
    FailureRow{
        6, "GPU memory in pieces",
        "",  // a full memory of which much is reserved and unallocated: memory_numbers() decides
        "The memory would be enough, but lies in pieces that are too small: picture sizes that change break it up.",
        "Fewer picture sizes (--bucket_reso_steps 128), or PYTORCH_ALLOC_CONF=max_split_size_mb:512. Do not set "
        "expandable_segments together with max_split_size_mb on ROCm."},
    FailureRow{7, "expandable segments are not there", "expandable_segments not supported",
               "This libtorch or ROCm has no expandable segments (they begin with libtorch 2.11 and ROCm 7.0, not on "
               "Windows); the "
               "option is ignored.",
               "Remove expandable_segments from PYTORCH_HIP_ALLOC_CONF or PYTORCH_ALLOC_CONF.", true},
    FailureRow{8, "weights turn to zeros", "weights became zero|turned to zeros|all zeros after",
               "expandable_segments together with max_split_size_mb zeroes live memory on ROCm 7.14 and later.",
               "Remove one of the two from the allocator's variable; begin again from a save of before.", false,
               "EXPANDABLE_SEGMENTS_RISK|zeros"},
    FailureRow{9, "kernels are being searched and compiled",
               "MIOpen&Find|Searching for the best solution|MIOpen&compiling",
               "MIOpen searches and compiles a kernel for every new picture size; on consumer cards it has no prepared "
               "answers. "
               "The first step takes minutes, and each new version of MIOpen begins anew.",
               "Wait for it once: results are kept. MIOPEN_FIND_MODE=2 (the engine's default) shortens it; fewer "
               "picture sizes "
               "(--bucket_reso_steps 128) mean fewer searches.",
               true, "first_step_slow"},
    FailureRow{10, "the driver gave up while pictures were decoded",
               "VAE&driver timeout|VAE&ring&timeout|driver timeout&decode",
               "Decoding a large picture in fp32 takes one kernel longer than the driver waits.",
               "MIOPEN_FIND_MODE=2, an autoencoder in bf16, decoding in tiles (--vae_batch_size 1, smaller pictures).",
               false, "vae_timeout"},
    FailureRow{
        11, "MIOpen found no working convolution",
        "miopenStatusUnknownError|No suitable algorithm was found|Invalid elapsed time detected|"
        "miopenStatusInternalError",
        "MIOpen could not build or time a convolution kernel (seen with ROCm 7.14 on gfx1151).",
        "Another ROCm version of libtorch (./cinnabar setup --use-rocm takes the tested one); delete the folder of "
        "MIOPEN_CUSTOM_CACHE_DIR once."},
    FailureRow{12, "a workspace warning of MIOpen", "IsEnoughWorkspace|GemmFwdRest&size: 0",
               "MIOpen mentions that a faster kernel would want workspace.",
               "Nothing: it takes another kernel. "
               "MIOPEN_LOG_LEVEL=3 (the engine's default) hides it.",
               true},
    FailureRow{13, "no prepared kernels for this chip", "Missing system database file|.kdb Performance may degrade",
               "MIOpen has no precompiled kernels for this chip and compiles them at the first use.",
               "Nothing: the first step is slower, later runs are not.", true},
    FailureRow{14, "MIOpen cannot compile a kernel",
               "MIOpenIm2d2Col|undeclared identifier&get_global_id|HIPRTC&error&MIOpen|HIPRTC_ERROR_COMPILATION",
               "A source of MIOpen 7.14 does not compile on this chip (seen on gfx1201); the way around it is slow.",
               "Another ROCm version of libtorch: 7.2 compiles it."},
    FailureRow{15, "convolutions far too slow", "ConvDirectNaive|naive_conv",
               "MIOpen chose its naive kernel, hundreds of times slower than the best one (seen on RDNA4).",
               "MIOPEN_FIND_MODE=3 once, so that it measures; a newer ROCm version of libtorch.", true,
               "slow_convolution"},
    FailureRow{
        16, "no matrix kernel for this shape",
        "HIPBLAS_STATUS_INTERNAL_ERROR|HIPBLAS_STATUS_NOT_SUPPORTED|no Tensile solution|rocblas_status_internal_error",
        "rocBLAS has no kernel for this shape in this precision on this chip.",
        "TORCH_BLAS_PREFER_HIPBLASLT=1 (gfx1100, gfx1101), or --mixed_precision bf16 instead of fp16."},
    FailureRow{17, "hipBLASLt left aside", "hipBLASLt on an unsupported architecture",
               "One of the visible GPUs is not in hipBLASLt's list, so libtorch uses hipBLAS for all.",
               "Nothing for a single card; an integrated GPU should be hidden (the engine gets a mask that does it).",
               true, "INTEGRATED_GPU_PRESENT"},
    FailureRow{18, "fused attention is switched off",
               "AMD GPU is still experimental|TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL",
               "Fused attention on this chip is behind a switch of libtorch, and the switch is off.",
               "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1 (the engine's default; unset your own value).", true,
               "ATTENTION_NEEDS_EXPERIMENTAL_FLAG"},
    FailureRow{19, "no fused attention for this chip", "No available kernel",
               "A fused attention kernel was demanded, and this chip has none.",
               "Leave the choice to Cinnabar (no --xformers, no --sdpa): it takes its own attention in pieces."},
    FailureRow{20, "numbers overflow in fp16",
               "NaN&VAE|NaN detected in latents|loss is NaN|loss=nan|not finite|non-finite|black image",
               "A value left the range of fp16 (SDXL's autoencoder and some transformers do), or the learning rate is "
               "too high.",
               "--no_half_vae, --mixed_precision bf16 (RDNA3 and later, Instinct; fp32 for what is sensitive on RDNA1 "
               "and 2), a "
               "lower --learning_rate.",
               false, "BF16_EMULATED|nan_loss"},
    FailureRow{21, "no permission for the GPU",
               "Unable to open /dev/kfd&Permission denied|/dev/kfd&Permission denied|/dev/dri&Permission denied|"
               "is not member of&group",
               "This user may not open the GPU's device files.",
               "sudo usermod -aG render,video $USER, then log out and in again.", false,
               "KFD_PERMISSION_DENIED|RENDER_NODE_PERMISSION_DENIED"},
    FailureRow{
        22, "no GPU to be found",
        "No CUDA GPUs are available|No HIP GPUs are available|hipGetDeviceCount|hipErrorNoDevice|hipErrorInvalidDevice|"
        "no ROCm-capable device|HIP error 100|HIP error 101",
        "The runtime sees no GPU: no driver, no access to /dev/kfd, a *_VISIBLE_DEVICES that hides all, or a container "
        "without the devices.",
        "Run \"cinnabar doctor\": it says which of these it is, and what to do.", false,
        "AMDGPU_MODULE_NOT_LOADED|GPU_WITHOUT_DRIVER|KFD_MISSING|RENDER_NODE_MISSING"},
    FailureRow{23, "libtorch of another kind",
               "Found no NVIDIA driver|Torch not compiled with CUDA enabled|not compiled with CUDA",
               "The libtorch here was built for NVIDIA or for the processor, and the GPU is another.",
               "./cinnabar setup --use-rocm (AMD) or --use-cuda (NVIDIA).", false, "BACKEND_MISMATCH"},
    FailureRow{24, "ROCm libraries of another version",
               "libamdhip64.so&cannot open shared object|libhsa-runtime64.so&cannot open shared object|"
               "librocblas.so&cannot open shared object",
               "Program and ROCm libraries differ in their main version.",
               "./cinnabar setup --use-rocm brings a libtorch with its own ROCm libraries; unset CINNABAR_TORCH and "
               "LD_LIBRARY_PATH."},
    FailureRow{25, "mixed libraries",
               "GLIBCXX_&not found|GLIBC_&not found|undefined symbol&libtorch|undefined symbol&c10",
               "Libraries of two builds are mixed, or the system is older than the build.",
               "unset LD_LIBRARY_PATH and CINNABAR_TORCH, then ./cinnabar setup; on an old system build there."},
    FailureRow{
        26, "the integrated GPU was taken", "Radeon Graphics&out of memory|gfx1036&out of memory|gfx1036&error",
        "The integrated GPU stands first among the devices and was taken for the card.",
        "Cinnabar's own engine gets a mask; unset your *_VISIBLE_DEVICES, or disable the integrated GPU in the BIOS.",
        false, "INTEGRATED_GPU_FIRST"},
    FailureRow{27, "bitsandbytes without ROCm", "libbitsandbytes|Could not detect ROCm GPU architecture|bitsandbytes",
               "bitsandbytes has no build for this ROCm or chip.",
               "Cinnabar does not need it: --optimizer_type AdamW8bit is built in and runs on every device.", true},
    FailureRow{28, "xformers", "xformers", "xformers is made for CUDA.",
               "Cinnabar does not need it: --xformers is taken as \"memory-saving attention\".", true},
    FailureRow{
        29, "several GPUs hang in their first exchange",
        "Missing \"iommu=pt\"|NCCL WARN&iommu|Watchdog caught collective operation timeout|ProcessGroupNCCL&timeout",
        "The GPUs cannot reach each other's memory: the IOMMU translates, or peer access does not work on this board.",
        "Kernel option iommu=pt (GRUB_CMDLINE_LINUX), or NCCL_P2P_DISABLE=1.", false, "MULTI_GPU_IOMMU_NOT_PT"},
    FailureRow{
        30, "the GPU was reset",
        "ring gfx&timeout|GPU reset begin|MES failed to respond|amdgpu_job_timedout|GPU reset(",
        "The driver lost the GPU and reset it: driver or firmware, power, a display on the same card, a kernel that "
        "ran too "
        "long.",
        "A newer kernel and linux-firmware; the display on the integrated GPU; a lower power limit and default clocks; "
        "smaller pictures. The run goes on from the last save.",
        false, "gpu_reset"},
    FailureRow{31, "the GPU hangs", "HW Exception by GPU|reason: GPU Hang|HSA_STATUS_ERROR_EXCEPTION|0x1016",
               "The GPU stopped answering (as a reset; on Instinct also an error of its memory).",
               "As after a reset: newer kernel and firmware, power, clocks. On Instinct look at the error counters: "
               "amd-smi metric "
               "--ecc. The run goes on from the last save."},
    FailureRow{32, "PCIe atomics are missing", "Pcie atomics not enabled|PCIe atomics&hostcall|PCI rejects atomics",
               "The slot does not carry atomic operations (slots of the chipset, risers): kernels that call back hang.",
               "Put the card into the slot that is wired to the processor.", false, "pcie_atomics"},
    FailureRow{33, "the processor reaches little of the GPU's memory", "resizable BAR|small BAR",
               "Resizable BAR is off: loading is slow.",
               "Switch on \"Above 4G Decoding\" and \"Resizable BAR\" in the BIOS.", true, "SMALL_BAR"},
    FailureRow{34, "torchaudio fails on Strix Halo", "torchaudio&bad_alloc", "A fault of that Python package.",
               "Cinnabar has no Python: other programs need another torchaudio.", true},
    FailureRow{
        35, "an integrated GPU with less memory than it should have",
        "",  // a full memory whose capacity is far below what the system shares: memory_numbers() decides
        "The runtime sees less memory than the system shares with this GPU: an old kernel or runtime, or a low limit.",
        "A larger carve-out in the BIOS, or the kernel options amdgpu.gttsize and ttm.pages_limit; a kernel of 6.18.4 "
        "or "
        "later; ROCm 7.2 or later.",
        false, "UNIFIED_MEMORY"},
    FailureRow{36, "the ROCm runtime has no resources",
               "HSA_STATUS_ERROR_OUT_OF_RESOURCES|hsa api call failure|hsa_init&fail",
               "The driver is busy or may not lock memory: a GPU that hangs, a limit of locked memory, a container "
               "without the "
               "needed flags.",
               "ulimit -l unlimited; in a container --ipc=host --security-opt seccomp=unconfined; else restart.", false,
               "HSA_INIT_FAILED"},
    FailureRow{37, "amd-smi finds no driver",
               "initialize amdsmi|amdsmi&Error code: 34|AMDSMI_STATUS_NO_DRV|AMDSMI_STATUS_DRIVER_NOT_LOADED",
               "The tool's library has no driver to talk to, as is always so under WSL.",
               "Nothing: training does not need it.", true, "WSL_LIMITED_MONITORING"},
    FailureRow{38, "ZLUDA", "ZLUDA",
               "ZLUDA compiles for many minutes at its first run, prints errors, and breaks after updates.",
               "Use native ROCm: AMD's builds for Windows, or WSL 2 with ./cinnabar setup --use-rocm.", true}};

}  // namespace

std::span<const FailureRow> failure_rows() { return kFailureRows; }

}  // namespace cinnabar::hardware
