#include "cinnabar/jobs/engine.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/hardware/process_limits.h"
#include "cinnabar/jobs/device_environment.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

namespace {

// A place that cannot be looked at (permissions, a loop of links) holds no libtorch; another one may.
bool has_libtorch(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / "lib", error);
}

}  // namespace

fs::path find_torch() {
  const fs::path beside = base::program_folder();
  if (const char* named = std::getenv("CINNABAR_TORCH"); named != nullptr && *named != '\0') {
    if (!has_libtorch(named)) {
      throw base::Error(base::ErrorCode::Io,
                        "CINNABAR_TORCH = " + std::string(named) +
                            ": expected a libtorch folder with lib/ in it; correct it or unset it");
    }
    return fs::absolute(named);
  }
  // The last but one is that of a checkout which was moved after it was built (build/PRESET/bin).
  for (const fs::path& folder :
       {beside / "libtorch", beside / ".." / "lib" / "cinnabar" / "libtorch", fs::path(CINNABAR_BUILT_WITH_TORCH),
        beside / ".." / ".." / ".." / ".deps" / "torch"}) {
    if (has_libtorch(folder)) return fs::weakly_canonical(folder);
  }
  throw base::Error(base::ErrorCode::Io, "libtorch was not found (looked for at " +
                                             std::string(CINNABAR_BUILT_WITH_TORCH) +
                                             "); run \"cinnabar setup\", or name a libtorch folder in CINNABAR_TORCH");
}

Engine find_engine() {
  const fs::path folder = base::program_folder();
  const fs::path worker = folder / "cinnabar-worker";
  if (!fs::exists(worker)) {
    throw base::Error(base::ErrorCode::Io,
                      "the engine " + worker.string() + " is missing; build it with \"cinnabar setup\"");
  }
  return {.worker = worker, .torch = find_torch()};
}

std::string torch_version(const fs::path& torch) {
  const fs::path file = torch / "version.py";
  if (!fs::exists(file)) return "unknown";
  const std::string text = base::read_file(file, 1 << 16);
  const std::string mark = "\n__version__ = '";
  const size_t start = text.find(mark);
  if (start == std::string::npos) return "unknown";
  const size_t first = start + mark.size();
  return text.substr(first, text.find('\'', first) - first);
}

std::vector<std::string> worker_environment(const fs::path& torch) {
  std::vector<std::string> environment = base::selected_environment(
      {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
       // Which devices, and how their memory is managed.
       "CUDA_*", "HIP_*", "ROCR_*", "ROCM_*", "HSA_*", "GPU_*", "AMD_*", "MIOPEN_*", "HIPBLASLT_*", "TENSILE_*",
       "NCCL_*", "RCCL_*", "ROCBLAS_*", "AOTRITON_*", "TORCH_ROCM_*", "TORCH_BLAS_*", "PYTORCH_TUNABLEOP_*",
       "DISABLE_ADDMM_HIP_LT", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
       // Threads and memory of the CPU.
       "OMP_*", "KMP_*", "GOMP_*", "MKL_*", "ONEDNN_*", "DNNL_*", "MALLOC_*",
       // Set by launchers of several processes.
       "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CINNABAR_DEBUG",
       "CINNABAR_FAULT", "CINNABAR_KILL_AT", "CINNABAR_SHARE", "CINNABAR_CLIP_BPE", "CINNABAR_CPU_KERNELS",
       "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"});
  // Threads of libgomp that spin while they wait make a busy machine many times slower; a user's own setting wins.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr && std::getenv("GOMP_SPINCOUNT") == nullptr) {
    environment.emplace_back("OMP_WAIT_POLICY=PASSIVE");
  }
  add_device_settings(environment, torch);
  environment.push_back("LD_LIBRARY_PATH=" + (torch / "lib").string());
  return environment;
}

EngineProcess start_engine(const Engine& engine, EngineStart start) {
  hardware::ensure_stack_limit();
  base::Pipe events = base::make_pipe();
  base::Pipe output = base::make_pipe();
  start.arguments.insert(start.arguments.end(), {"--events-fd", std::to_string(kEventsFd)});
  start.descriptors.insert(
      start.descriptors.end(),
      {{output.write.get(), STDOUT_FILENO}, {output.write.get(), STDERR_FILENO}, {events.write.get(), kEventsFd}});
  base::Process process({.program = engine.worker,
                         .arguments = std::move(start.arguments),
                         .environment = worker_environment(engine.torch),
                         .descriptors = std::move(start.descriptors),
                         .is_own_group = start.is_own_group});
  return {.process = std::move(process), .events = std::move(events.read), .output = std::move(output.read)};
}

}  // namespace cinnabar::jobs
