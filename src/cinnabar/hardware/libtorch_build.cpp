#include "cinnabar/hardware/libtorch_build.h"

#include <algorithm>
#include <set>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace fs = std::filesystem;

namespace {

// The text of a line "name = 'x'" or "name: Optional[str] = 'x'".
std::optional<std::string> python_text(const std::vector<std::string>& lines, const std::string& name) {
  for (const std::string& line : lines) {
    if (!line.starts_with(name)) continue;
    const size_t first = line.find('\'');
    const size_t last = line.rfind('\'');
    if (first != std::string::npos && last > first) return line.substr(first + 1, last - first - 1);
  }
  return std::nullopt;
}

std::optional<std::string> two_numbers(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  Version version = version_of(*text);
  if (version.size() < 2) return std::nullopt;
  version.resize(2);
  return version_text(version);
}

// GEMM kernels lie in files that are named after the chip: TensileLibrary_lazy_gfx1100.dat.
std::vector<std::string> kernel_archs(const fs::path& folder) {
  std::set<std::string> archs;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const size_t at = name.rfind("gfx");
    if (at == std::string::npos || !name.starts_with("TensileLibrary")) continue;
    const size_t stop = name.find_first_not_of("0123456789abcdef", at + 3);
    const std::string gfx = name.substr(at, stop - at);
    if (parse_gfx(gfx)) archs.insert(gfx);
  }
  return {archs.begin(), archs.end()};
}

}  // namespace

std::vector<std::string> usual_rocm_archs(const std::string& hip) {
  const Version version = version_of(hip);
  if (version.size() < 2) return {};
  std::vector<std::string> archs;
  const auto add = [&](bool has, std::initializer_list<const char*> more) {
    if (has) archs.insert(archs.end(), more.begin(), more.end());
  };
  add(!is_at_least(version, {7, 14}), {"gfx900", "gfx906"});
  add(true, {"gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1101"});
  add(is_at_least(version, {6, 4}), {"gfx1102", "gfx1200", "gfx1201"});
  add(is_at_least(version, {7, 0}), {"gfx950", "gfx1150", "gfx1151"});
  add(is_at_least(version, {7, 2}), {"gfx1103"});
  return archs;
}

std::vector<std::string> usual_cuda_archs(const std::string& cuda) {
  const Version version = version_of(cuda);
  if (version.empty()) return {};
  if (version[0] >= 13) return {"sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"};
  if (is_at_least(version, {12, 8})) return {"sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"};
  return {"sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"};
}

Libtorch read_libtorch(const fs::path& folder) {
  Libtorch torch;
  std::error_code error;
  torch.is_present = fs::exists(folder / "lib" / "libtorch_cpu.so", error);
  if (!torch.is_present) return torch;
  if (fs::exists(folder / "version.py", error)) {
    try {
      const std::vector<std::string> lines = lines_of(base::read_file(folder / "version.py", 1 << 16));
      torch.version = python_text(lines, "__version__");
      torch.hip = two_numbers(python_text(lines, "hip"));
      torch.cuda = two_numbers(python_text(lines, "cuda"));
    } catch (const base::Error&) {
      torch.version.reset();  // unreadable: an unknown version is what the report then says
    }
  }
  const bool has_hip = fs::exists(folder / "lib" / "libtorch_hip.so", error);
  const bool has_cuda = fs::exists(folder / "lib" / "libtorch_cuda.so", error);
  if (has_hip && !torch.hip) torch.hip = "unknown";
  if (has_cuda && !torch.cuda) torch.cuda = "unknown";
  // The name says a GPU build, but its library is not there: it runs as a CPU build.
  if (!has_hip) torch.hip.reset();
  if (!has_cuda) torch.cuda.reset();
  if (torch.hip) torch.arch_list = kernel_archs(folder / "lib" / "rocblas" / "library");
  if (torch.hip && torch.arch_list.empty()) torch.arch_list = usual_rocm_archs(*torch.hip);
  if (torch.cuda) torch.arch_list = usual_cuda_archs(*torch.cuda);
  return torch;
}

}  // namespace cinnabar::hardware
