#include "cinnabar/train/memory_report.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace cinnabar::train {

namespace {

std::string in_mib(int64_t bytes) { return std::to_string((bytes + (1 << 19)) >> 20); }

}  // namespace

ResidentMemory resident_memory() {
  ResidentMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    int64_t* place = line.starts_with("VmRSS:") ? &memory.now : line.starts_with("VmHWM:") ? &memory.peak : nullptr;
    if (place != nullptr) *place = std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;  // the file counts in KiB
  }
  return memory;
}

void MemoryReport::phase_done(const std::string& name, ResidentMemory memory) { phases_.push_back({name, memory}); }

std::string MemoryReport::peak_phase() const {
  const auto found = std::ranges::find_if(phases_, [this](const Phase& phase) { return phase.memory.peak >= peak(); });
  return found == phases_.end() ? std::string() : found->name;
}

int64_t MemoryReport::work(const MemoryUse& use) const {
  return std::max<int64_t>(0, peak() - program_ - use.weights - use.network);
}

std::string MemoryReport::text(const MemoryUse& use) const {
  std::string text =
      "Memory: at most " + in_mib(peak()) + " MiB, while " + peak_phase() + ". Model weights " + in_mib(use.weights);
  if (use.mapped > 0) text += " (" + in_mib(use.mapped) + " of it pages of the file)";
  text += ", program and libraries " + in_mib(program_) + ", network and optimizer " + in_mib(use.network) +
          ", activations and all else " + in_mib(work(use)) + ".";
  return text;
}

void MemoryReport::add_to(std::map<std::string, base::EventValue>& result, const MemoryUse& use) const {
  result["peak_memory_bytes"] = peak();
  result["peak_memory_phase"] = peak_phase();
  result["memory_weights_bytes"] = use.weights;
  result["memory_mapped_bytes"] = use.mapped;
  result["memory_program_bytes"] = program_;
  result["memory_network_bytes"] = use.network;
  result["memory_work_bytes"] = work(use);
}

}  // namespace cinnabar::train
