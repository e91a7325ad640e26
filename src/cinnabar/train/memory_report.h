// Where the memory of a run went: resident memory of the process by what it is for, and when it was largest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/base/events.h"

namespace cinnabar::train {

// In bytes, of the process, as the system counts them; 0 where the system does not tell.
struct ResidentMemory {
  int64_t now = 0;
  int64_t peak = 0;  // since the process began
};
ResidentMemory resident_memory();

// What the run itself knows, in bytes.
struct MemoryUse {
  int64_t weights = 0;  // of the model's parts that are still loaded, on the CPU
  int64_t mapped = 0;   // of these, read from the mapped file: the system can take these pages back
  int64_t network = 0;  // trained values, their gradients, the optimizer's state
};

class MemoryReport {
 public:
  // Begins with what the program and its libraries take.
  MemoryReport() : MemoryReport(resident_memory()) {}
  explicit MemoryReport(ResidentMemory start) : program_(start.now) {}

  // To be called when a part of the run is over, in order: "reading the data set", "training", ...
  void phase_done(const std::string& name) { phase_done(name, resident_memory()); }
  void phase_done(const std::string& name, ResidentMemory memory);

  // One sentence for the user, after the last phase.
  std::string text(const MemoryUse& use) const;
  // Fields of the event `result` (docs/events.md).
  void add_to(std::map<std::string, base::EventValue>& result, const MemoryUse& use) const;

 private:
  struct Phase {
    std::string name;
    ResidentMemory memory;
  };
  int64_t peak() const { return phases_.empty() ? program_ : phases_.back().memory.peak; }
  // During which it was reached.
  std::string peak_phase() const;
  int64_t work(const MemoryUse& use) const;

  int64_t program_;
  std::vector<Phase> phases_;
};

}  // namespace cinnabar::train
