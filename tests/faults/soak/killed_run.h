// Runs of the built program that are killed on the way.
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "e2e/program.h"
#include "faults/soak/material.h"

namespace cinnabar::soak {

struct Kill {
  enum class When { Never, Time, Save, Point };
  When when = When::Never;
  double after_s = 0.0;  // Time; Save: behind the moment when a file is being written
  int64_t save = 1;      // Save: the n-th time that a file is being written in out/
  std::string point{};   // Point: CINNABAR_KILL_AT
  std::string fault{};   // CINNABAR_FAULT, with any of the others
  int signal = 0;        // 0: SIGKILL to the engine
  bool is_both = false;  // SIGKILL to the program that watches the engine, too
  int repeats = 1;       // of `signal`, which goes to the watching program
};

struct Ended {
  int status = -1;  // of the watching program; -1 when it was killed
  std::string text;
  double seconds = 0.0;
  bool was_hit = false;  // the kill happened before the end
};

// Of the program, from its first moments on.
struct Limits {
  rlim_t file_bytes = RLIM_INFINITY;
  rlim_t open_files = RLIM_INFINITY;
};

// A folder with pictures in which runs follow each other.
class KillFolder {
 public:
  KillFolder();
  const std::filesystem::path& path() const { return program_.folder(); }
  Ended run(const Words& words, const Kill& kill = {}) const;
  // The same, with `beside` called now and then until the run ends. It gets the engine's process id (0: none yet).
  Ended run_beside(const Words& words, const std::function<void(int engine)>& beside, const std::string& fault = {},
                   const Limits& limits = {}) const;

 private:
  test::Program program_;
};

// Goes on until the run is done; "" or what went wrong. `first` hits the first of the resumed runs.
std::string finish(const KillFolder& folder, const Words& words, const Kill& first = {});

// Uniform over the length of an unbroken run for one half of the kills, while files are written for the other.
Kill drawn_kill(std::mt19937_64& random, double run_s);

}  // namespace cinnabar::soak
