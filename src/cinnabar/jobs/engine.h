// Where the engine is: the worker program and the libtorch folder that it runs with (no torch here).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cinnabar::jobs {

struct Engine {
  std::filesystem::path worker;  // the program cinnabar-worker
  std::filesystem::path torch;   // libtorch folder with lib/
};

// The worker beside this program, and its libtorch. Throws Error{Io} that says what is missing and what to do.
Engine find_engine();
// The folder that CINNABAR_TORCH names, else a folder libtorch beside the program, else the one it was built with.
std::filesystem::path find_torch();

// From the folder's version.py, e.g. "2.13.0+cpu"; "unknown" when it has none.
std::string torch_version(const std::filesystem::path& torch);

// All that the worker's environment holds: a short list of variables, and the library path of `torch`.
std::vector<std::string> worker_environment(const std::filesystem::path& torch);

}  // namespace cinnabar::jobs
