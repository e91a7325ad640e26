// Where the engine is: the worker program and the libtorch folder that it runs with (no torch here).
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/base/process.h"

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

// The number under which the engine finds the pipe of its events.
inline constexpr int kEventsFd = 3;

// A started engine. Both descriptors are at their end when it and all that it started are gone.
struct EngineProcess {
  base::Process process;
  base::Descriptor events;  // a line of JSON each
  base::Descriptor output;  // what it prints, standard output and errors together
};

struct EngineStart {
  std::vector<std::string> arguments{};            // command first; where its events go is added
  std::vector<std::pair<int, int>> descriptors{};  // further ones: {ours, the engine's number}
  bool is_own_group = true;                        // signals of the terminal do not reach it
};

// Throws Error{Io} when it cannot be started, Error{Denied} when the limit of stacks is too low (ensure_stack_limit).
EngineProcess start_engine(const Engine& engine, EngineStart start);

}  // namespace cinnabar::jobs
