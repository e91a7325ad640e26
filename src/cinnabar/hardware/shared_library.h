// A library opened at run time.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cinnabar::hardware {

class SharedLibrary {
 public:
  // The first of `names` that opens; none: is_open() is false.
  explicit SharedLibrary(const std::vector<std::string>& names);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  bool is_open() const { return handle_ != nullptr; }

  // Calls a function that returns 0 for success; false when it fails or does not exist.
  template <class... Parameters>
  bool call(const char* name, Parameters... parameters) const {
    using Function = int (*)(Parameters...);
    const auto function = reinterpret_cast<Function>(symbol(name));
    return function != nullptr && function(parameters...) == 0;
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

}  // namespace cinnabar::hardware
