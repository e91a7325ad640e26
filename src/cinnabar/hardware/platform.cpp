#include "cinnabar/hardware/platform.h"

#include <algorithm>

#include "cinnabar/hardware/drm.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

bool is_in_container(const FileTree& files) {
  if (files.has("/.dockerenv") || files.has("/run/.containerenv")) return true;
  const std::string groups = files.text("/proc/1/cgroup").value_or("");
  for (const char* word : {"docker", "containerd", "kubepods", "libpod", "lxc"}) {
    if (contains(groups, word)) return true;
  }
  return false;
}

// "6.4.1-83" without what follows the dash; "" when it is no version.
std::string release_of(const std::string& text) {
  const std::string word = trimmed(text.substr(0, text.find_first_of("- \n")));
  return version_of(word).empty() ? std::string() : word;
}

std::string version_in(const FileTree& files, const std::string& folder) {
  for (const char* name : {"/.info/version", "/.info/version-dev"}) {
    const std::string release = release_of(files.text(folder + name).value_or(""));
    if (!release.empty()) return release;
  }
  return {};
}

std::optional<std::string> rocm_version(const Sources& sources, const SmiReport& amd_smi) {
  std::string best = version_in(sources.files, "/opt/rocm");
  if (best.empty()) {
    for (const std::string& name : sources.files.names("/opt")) {
      if (!name.starts_with("rocm-")) continue;
      const std::string release = version_in(sources.files, "/opt/" + name);
      if (!release.empty() && version_of(release) > version_of(best)) best = release;
    }
  }
  if (best.empty()) {
    const CommandResult hipconfig = sources.run(command_line::kHipconfig);
    if (hipconfig.exit == 0) best = release_of(hipconfig.output);
  }
  if (best.empty() && amd_smi.rocm_version) best = release_of(*amd_smi.rocm_version);
  if (best.empty()) return std::nullopt;
  return best;
}

bool has_rocm_folder(const FileTree& files) {
  if (files.has("/opt/rocm")) return true;
  const std::vector<std::string> names = files.names("/opt");
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with("rocm-"); });
}

std::string unquoted(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '"'), text.end());
  return text;
}

}  // namespace

Platform read_platform(const Sources& sources, const SmiReport& amd_smi) {
  const FileTree& files = sources.files;
  Platform platform;
  platform.kernel = files.text("/proc/sys/kernel/osrelease").value_or("");
  platform.system_name = unquoted(assigned(files.text("/etc/os-release").value_or(""), "PRETTY_NAME"));
  platform.is_wsl = contains_words(platform.kernel, "microsoft");
  platform.is_container = is_in_container(files);
  // Built into the kernel, the driver has no initstate.
  platform.is_amdgpu_loaded =
      files.has("/sys/module/amdgpu") && files.text("/sys/module/amdgpu/initstate").value_or("live") == "live";
  if (platform.is_amdgpu_loaded) platform.amdgpu_version = files.text("/sys/module/amdgpu/version");
  platform.rocm_version = rocm_version(sources, amd_smi);
  platform.has_rocm_tools = sources.run(command_line::kRocminfo).is_installed() || amd_smi.is_installed ||
                            sources.run(command_line::kRocmSmi).is_installed() || has_rocm_folder(files);
  return platform;
}

}  // namespace cinnabar::hardware
