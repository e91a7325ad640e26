#include "cinnabar/jobs/device_environment.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "formats/temporary_folder.h"

namespace cinnabar::jobs {

namespace {

bool has(const std::vector<std::string>& environment, const std::string& begin) {
  return std::any_of(environment.begin(), environment.end(),
                     [&](const std::string& entry) { return entry.starts_with(begin); });
}

TEST_CASE("a_build_for_the_processor_needs_no_variables") {
  const formats::TemporaryFolder folder;
  folder.put("torch/lib/libtorch_cpu.so", "");
  folder.put("torch/version.py", "__version__ = '2.13.0+cpu'\nhip: Optional[str] = None\n");
  std::vector<std::string> environment = {"A=1"};
  add_device_settings(environment, folder / "torch");
  CHECK(environment == std::vector<std::string>{"A=1"});
}

TEST_CASE("a_rocm_build_gets_safe_values_and_the_folders_that_they_name") {
  const formats::TemporaryFolder folder;
  folder.put("torch/lib/libtorch_cpu.so", "");
  folder.put("torch/lib/libtorch_hip.so", "");
  folder.put("torch/version.py", "__version__ = '2.13.0+rocm7.2'\nhip: Optional[str] = '7.2.1'\n");
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  ::setenv("ROCBLAS_TENSILE_LIBPATH", "/opt/other", 1);
  std::vector<std::string> environment = {"ROCBLAS_TENSILE_LIBPATH=/opt/other"};
  add_device_settings(environment, folder / "torch");
  ::unsetenv("ROCBLAS_TENSILE_LIBPATH");
  if (before == nullptr) {
    ::unsetenv("XDG_CACHE_HOME");
  } else {
    ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  }
  CHECK(has(environment, "MIOPEN_LOG_LEVEL=3"));
  CHECK(has(environment, "MIOPEN_USER_DB_PATH=" + (folder / "cache/cinnabar/miopen-7.2/db").string()));
  CHECK(std::filesystem::is_directory(folder / "cache/cinnabar/miopen-7.2/cache"));
  // Kernels of another library would crash this one.
  CHECK_FALSE(has(environment, "ROCBLAS_TENSILE_LIBPATH"));
}

}  // namespace

}  // namespace cinnabar::jobs
