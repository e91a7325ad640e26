#include <algorithm>

#include "cinnabar/hardware/platform.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

const std::string kGroups = "/sys/fs/cgroup";

// "0-3,8" holds five.
int64_t count_of_list(const std::string& list) {
  int64_t count = 0;
  for (const std::string& part : parts_of(list, ',')) {
    const std::vector<std::string> ends = parts_of(part, '-');
    const auto first = integer_of(ends.front());
    const auto last = integer_of(ends.back());
    if (first && last && *last >= *first && *last - *first < 100000) count += *last - *first + 1;
  }
  return count;
}

// Folders of control groups from the own one up; in a container only the top one is there.
std::vector<std::string> group_folders(const FileTree& files) {
  std::vector<std::string> folders;
  std::string path;
  for (const std::string& line : lines_of(files.text("/proc/self/cgroup").value_or(""))) {
    if (line.starts_with("0::/")) path = line.substr(3);
  }
  while (path.size() > 1 && !contains(path, "..")) {
    folders.push_back(kGroups + path);
    path.resize(path.rfind('/'));
  }
  folders.push_back(kGroups);
  return folders;
}

std::optional<int64_t> memory_limit(const FileTree& files) {
  std::optional<int64_t> least = files.number(kGroups + "/memory/memory.limit_in_bytes");
  for (const std::string& folder : group_folders(files)) {
    const auto limit = files.number(folder + "/memory.max");
    if (limit && (!least || *limit < *least)) least = limit;
  }
  return least;
}

std::optional<double> cpu_limit(const FileTree& files) {
  std::optional<double> least;
  for (const std::string& folder : group_folders(files)) {
    const std::vector<std::string> parts = parts_of(files.text(folder + "/cpu.max").value_or(""), ' ');
    if (parts.size() != 2) continue;
    const auto quota = integer_of(parts[0]);
    const auto period = integer_of(parts[1]);
    if (!quota || !period || *period <= 0) continue;
    const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
    if (!least || cpus < *least) least = cpus;
  }
  return least;
}

}  // namespace

Host read_host(const FileTree& files) {
  Host host;
  const std::string cpu = files.text("/proc/cpuinfo").value_or("");
  host.cpu_name = labelled(cpu, "model name");
  const std::vector<std::string> flags = parts_of(labelled(cpu, "flags"), ' ');
  for (const char* feature : {"avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile"}) {
    if (std::find(flags.begin(), flags.end(), feature) != flags.end()) host.cpu_features.emplace_back(feature);
  }
  const int64_t allowed = count_of_list(labelled(files.text("/proc/self/status").value_or(""), "Cpus_allowed_list"));
  if (allowed > 0) host.logical_cpus = allowed;
  host.cpu_limit = cpu_limit(files);
  const std::string memory = files.text("/proc/meminfo").value_or("");
  host.memory_bytes = labelled_bytes(memory, "MemTotal");
  host.available_bytes = labelled_bytes(memory, "MemAvailable");
  const auto limit = memory_limit(files);
  if (limit && host.memory_bytes && *limit < *host.memory_bytes) host.memory_limit_bytes = limit;
  return host;
}

}  // namespace cinnabar::hardware
