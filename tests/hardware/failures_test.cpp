#include "cinnabar/hardware/failures.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/problem_text.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

struct Case {
  int row;
  const char* text;  // as it reaches the user; "symptom:NAME" for what has no message
};

constexpr const char* kFull =
    "HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.98 GiB of which 1.20 GiB is free. "
    "Of the "
    "allocated memory 22.10 GiB is allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but unallocated.";
constexpr const char* kPieces =
    "HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.98 GiB of which 0.10 GiB is free. "
    "Of the "
    "allocated memory 15.00 GiB is allocated by PyTorch, and 8.50 GiB is reserved by PyTorch but unallocated. If "
    "reserved but "
    "unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";

constexpr Case kCases[] = {
    {1, "HIP error: invalid device function\nHIP kernel errors might be asynchronously reported"},
    {1, "Unable to find code object for all current devices!"},
    {1, "RuntimeError: CUDA error: no kernel image is available for execution on the device"},
    {2,
     "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : "
     "gfx1103"},
    {3,
     "Queue at 0x7f inactivated due to async error: HSA_STATUS_ERROR_INVALID_ISA: The instruction set is invalid. "
     "code: "
     "0x100f"},
    {4,
     "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f. Reason: Page not present or supervisor "
     "privilege."},
    {5, kFull},
    {6, kPieces},
    {7, "UserWarning: expandable_segments not supported on this platform (function operator())"},
    {8, "symptom:zeros"},
    {8, "symptom:EXPANDABLE_SEGMENTS_RISK"},
    {9, "symptom:first_step_slow"},
    {9, "MIOpen(HIP): Info [FindSolution] Searching for the best solution among 21"},
    {10, "symptom:vae_timeout"},
    {11, "MIOpen Error: miopenStatusUnknownError"},
    {11, "No suitable algorithm was found to execute the required convolution"},
    {12,
     "MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutionsFallback AI] Solver <GemmFwdRest>, workspace required: 1, "
     "provided ptr: 0 size: 0"},
    {13, "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx1030_20.kdb Performance may degrade."},
    {14, "MIOpenIm2d2Col.cpp:61:18: error: use of undeclared identifier 'get_global_id'"},
    {15, "symptom:slow_convolution"},
    {15, "MIOpen(HIP): Info solver ConvDirectNaiveConvFwd 523.7 ms"},
    {16, "CUDA error: HIPBLAS_STATUS_INTERNAL_ERROR when calling hipblasGemmEx"},
    {17, "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas"},
    {18,
     "UserWarning: Flash attention on Current AMD GPU is still experimental. Enable it with "
     "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1."},
    {19, "RuntimeError: No available kernel. Aborting execution."},
    {20, "NaN detected in latents: sks_1.png"},
    {20, "symptom:nan_loss"},
    {21, "Unable to open /dev/kfd read-write: Permission denied"},
    {22, "RuntimeError: No CUDA GPUs are available"},
    {22, "HIP initialization: Unexpected error from hipGetDeviceCount()... Error 101: hipErrorInvalidDevice"},
    {23, "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"},
    {24,
     "error while loading shared libraries: libamdhip64.so.6: cannot open shared object file: No such file or "
     "directory"},
    {25, "/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found"},
    {25, "cinnabar-worker: undefined symbol: _ZN3c10 in libtorch_hip.so"},
    {26, "symptom:INTEGRATED_GPU_FIRST"},
    {27, "Could not detect ROCm GPU architecture: [Errno 2] rocminfo"},
    {28, "fatal error: xformers was built for CUDA"},
    {29, "NCCL WARN Missing \"iommu=pt\" from kernel command line which can lead to system instability or hang!"},
    {30, "amdgpu 0000:03:00.0: ring gfx_0.0.0 timeout, signaled seq=1"},
    {30, "amdgpu: MES failed to respond to msg=3"},
    {31, "HW Exception by GPU node-1 (Agent handle: 0x5) reason :GPU Hang"},
    {32, "Pcie atomics not enabled, hostcall not supported"},
    {33, "symptom:SMALL_BAR"},
    {34, "import torchaudio: terminate called after throwing an instance of 'std::bad_alloc'"},
    {35, "symptom:UNIFIED_MEMORY"},
    {36,
     "hsa api call failure at: rocminfo.cc:1306\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed"},
    {37, "Can't initialize amdsmi - Error code: 34"},
    {38, "ZLUDA: compilation in progress"}};

TEST_CASE("every_row_of_the_catalogue_is_found_from_its_symptom") {
  std::set<int> found;
  for (const Case& one : kCases) {
    CAPTURE(one.text);
    const std::string text = one.text;
    const auto explanation = text.starts_with("symptom:") ? explain_symptom(text.substr(8)) : explain_failure(text);
    REQUIRE(explanation.has_value());
    CHECK(explanation->number == one.row);
    CHECK_FALSE(explanation->cause.empty());
    CHECK_FALSE(explanation->remedy.empty());
    found.insert(explanation->number);
  }
  CHECK(found.size() == 38);
  int next = 1;
  for (const FailureRow& row : failure_rows()) CHECK(row.number == next++);
  CHECK(next == 39);
}

TEST_CASE("a_full_memory_is_read_by_its_numbers") {
  const MemoryNumbers numbers = memory_numbers(kFull);
  CHECK(numbers.wanted == doctest::Approx(2.0 * static_cast<double>(kGib)));
  CHECK(numbers.capacity == doctest::Approx(23.98 * static_cast<double>(kGib)));
  CHECK(numbers.free == doctest::Approx(1.2 * static_cast<double>(kGib)));
  CHECK(numbers.unallocated == doctest::Approx(210.0 * 1048576.0));
  const std::string shared = "HIP out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 15.49 GiB";
  CHECK(explain_failure(shared)->number == 5);
  CHECK(explain_failure(shared, {.is_integrated = true, .unified_memory_bytes = 96 * kGib})->number == 35);
}

TEST_CASE("what_is_not_known_is_not_explained") {
  for (const char* text : {"", "shape mismatch in layer down.0", "The engine ended", "file not found"})
    CHECK_FALSE(explain_failure(text).has_value());
  CHECK_FALSE(explain_symptom("").has_value());
  CHECK_FALSE(explain_symptom("sunspots").has_value());
}

TEST_CASE("what_must_be_acted_on_goes_before_what_is_harmless") {
  const std::string log =
      "MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutionsFallback AI] Solver <GemmFwdRest>\n"
      "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx1030_20.kdb Performance may degrade.\n"
      "Memory access fault by GPU node-1";
  CHECK(explain_failure(log)->number == 4);
}

TEST_CASE("rows_that_doctor_names_exist_and_say_so_in_advance") {
  std::set<int> named;
  for (const std::string& code : problem_codes()) {
    const ProblemText text = problem_text(Machine{}, {.code = code, .severity = "error"});
    for (const int row : text.catalogue) {
      CHECK(row >= 1);
      CHECK(row <= 38);
      named.insert(row);
    }
  }
  CHECK(named.size() >= 15);
  for (const char* name :
       {"rx6700xt-no-override", "kfd-permission-denied", "rx7800xt-igpu-first", "rx9070xt-rocm714"}) {
    CAPTURE(name);
    bool is_explained = false;
    for (const Warning& warning : detect(fixture(name)).warnings)
      is_explained = is_explained || explain_symptom(warning.code).has_value();
    CHECK(is_explained);
  }
}

TEST_CASE("the_page_has_every_code_and_every_row") {
  std::ostringstream text;
  text << std::ifstream(std::string(CINNABAR_TESTS_DIR) + "/../docs/doctor.md").rdbuf();
  const std::string page = text.str();
  for (const std::string& code : problem_codes()) {
    CAPTURE(code);
    CHECK(page.find("`" + code + "`") != std::string::npos);
  }
  for (const FailureRow& row : failure_rows()) {
    const std::string begin = "| " + std::to_string(row.number) + " | " + row.name + " | ";
    CAPTURE(begin);
    CHECK(page.find(begin) != std::string::npos);
  }
}

}  // namespace

}  // namespace cinnabar::hardware
