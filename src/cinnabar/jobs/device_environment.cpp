#include "cinnabar/jobs/device_environment.h"

#include <cstdlib>
#include <system_error>

#include "cinnabar/base/log.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/environment.h"
#include "cinnabar/hardware/libtorch_build.h"
#include "cinnabar/hardware/system_sources.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

namespace {

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    base::log_warning("Kernels will be compiled anew each time. folder=" + path + " reason=" + error.message());
}

}  // namespace

fs::path cache_folder() {
  if (const char* set = std::getenv("XDG_CACHE_HOME"); set != nullptr && *set == '/') return fs::path(set) / "cinnabar";
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr && *home == '/' ? home : "/tmp") / ".cache" / "cinnabar";
}

void add_device_settings(std::vector<std::string>& environment, const fs::path& torch) {
  const hardware::Libtorch libtorch = hardware::read_libtorch(torch);
  if (!libtorch.hip && !libtorch.cuda) return;
  // The kernel's files tell all that is needed, in milliseconds; under WSL only rocminfo can.
  const bool needs_tools = fs::exists("/dev/dxg");
  const hardware::Machine machine = hardware::detect(hardware::system_sources(libtorch, needs_tools));
  for (const auto& setting : hardware::environment_settings(machine, cache_folder().string())) {
    if (setting.is_users) continue;
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(setting.name + "="); });
    if (!setting.value) continue;
    environment.push_back(setting.name + "=" + *setting.value);
    if (setting.name == "MIOPEN_USER_DB_PATH" || setting.name == "MIOPEN_CUSTOM_CACHE_DIR") make_folder(*setting.value);
  }
}

}  // namespace cinnabar::jobs
