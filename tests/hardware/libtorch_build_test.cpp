#include "cinnabar/hardware/libtorch_build.h"

#include <doctest/doctest.h>

#include "cinnabar/hardware/gfx.h"
#include "formats/temporary_folder.h"

namespace cinnabar::hardware {

namespace {

TEST_CASE("a_rocm_build_names_its_chips_by_its_files") {
  const formats::TemporaryFolder folder;
  CHECK_FALSE(read_libtorch(folder / "nothing").is_present);
  folder.put("t/lib/libtorch_cpu.so", "");
  folder.put("t/version.py",
             "__version__ = '2.13.0+rocm7.2'\ncuda: Optional[str] = None\nhip: Optional[str] = '7.2.26015-x'\n");
  Libtorch torch = read_libtorch(folder / "t");
  CHECK(torch.version == "2.13.0+rocm7.2");
  // The name alone makes no GPU build.
  CHECK_FALSE(torch.hip.has_value());
  folder.put("t/lib/libtorch_hip.so", "");
  torch = read_libtorch(folder / "t");
  CHECK(torch.hip == "7.2");
  CHECK(covers(torch.arch_list, "gfx1103"));
  folder.put("t/lib/rocblas/library/TensileLibrary_lazy_gfx1201.dat", "");
  folder.put("t/lib/rocblas/library/TensileLibrary_Type_HH_gfx90a.co", "");
  folder.put("t/lib/rocblas/library/notes.txt", "");
  torch = read_libtorch(folder / "t");
  CHECK(torch.arch_list == std::vector<std::string>{"gfx1201", "gfx90a"});
}

TEST_CASE("a_cpu_build_has_no_chips") {
  const formats::TemporaryFolder folder;
  folder.put("lib/libtorch_cpu.so", "");
  folder.put("version.py", "__all__ = ['__version__', 'hip']\n__version__ = '2.13.0+cpu'\nhip: Optional[str] = None\n");
  const Libtorch torch = read_libtorch(folder / ".");
  CHECK(torch.is_present);
  CHECK(torch.version == "2.13.0+cpu");
  CHECK(torch.arch_list.empty());
  CHECK_FALSE(torch.cuda.has_value());
}

TEST_CASE("public_builds_by_version") {
  CHECK_FALSE(covers(usual_rocm_archs("6.3"), "gfx1102"));
  CHECK(covers(usual_rocm_archs("6.4"), "gfx1201"));
  CHECK_FALSE(covers(usual_rocm_archs("6.4"), "gfx1151"));
  CHECK(covers(usual_rocm_archs("7.1"), "gfx1151"));
  CHECK_FALSE(covers(usual_rocm_archs("7.14"), "gfx906"));
  CHECK(usual_rocm_archs("unknown").empty());
  CHECK(covers_capability(usual_cuda_archs("12.6"), "5.0"));
  CHECK_FALSE(covers_capability(usual_cuda_archs("13.0"), "6.1"));
}

}  // namespace

}  // namespace cinnabar::hardware
