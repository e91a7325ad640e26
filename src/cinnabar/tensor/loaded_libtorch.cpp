#include "cinnabar/tensor/loaded_libtorch.h"

#include <dlfcn.h>

#include <filesystem>

#include <ATen/Context.h>

#include "cinnabar/hardware/libtorch_build.h"

namespace cinnabar::tensor {

hardware::Libtorch loaded_libtorch() {
  Dl_info info{};
  // An object inside the library: the address of a function could be one of this program's own jump table.
  if (::dladdr(static_cast<const void*>(&at::globalContext()), &info) == 0 || info.dli_fname == nullptr) return {};
  return hardware::read_libtorch(std::filesystem::path(info.dli_fname).parent_path().parent_path());
}

}  // namespace cinnabar::tensor
