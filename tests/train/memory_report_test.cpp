#include "cinnabar/train/memory_report.h"

#include <doctest/doctest.h>

namespace cinnabar::train {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

ResidentMemory memory(int64_t now_mib, int64_t peak_mib) { return {now_mib * kMiB, peak_mib * kMiB}; }

TEST_CASE("the_peak_is_divided_by_what_it_is_for") {
  MemoryReport report(memory(100, 110));
  report.phase_done("loading", memory(900, 950));
  report.phase_done("training", memory(1000, 2000));
  const MemoryUse use{.weights = 800 * kMiB, .mapped = 300 * kMiB, .network = 50 * kMiB};
  CHECK(report.text(use) ==
        "Memory: at most 2000 MiB, while training. Model weights 800 (300 of it pages of the file), program and "
        "libraries 100, network and optimizer 50, activations and all else 1050.");
  std::map<std::string, base::EventValue> result;
  report.add_to(result, use);
  CHECK(std::get<int64_t>(result.at("peak_memory_bytes")) == 2000 * kMiB);
  CHECK(std::get<int64_t>(result.at("memory_work_bytes")) == 1050 * kMiB);
}

TEST_CASE("a_peak_of_an_earlier_phase_is_told_by_its_name") {
  MemoryReport report(memory(100, 110));
  report.phase_done("loading", memory(900, 2000));
  report.phase_done("training", memory(1000, 2000));
  CHECK(report.text({}).starts_with("Memory: at most 2000 MiB, while loading."));
}

TEST_CASE("the_system_tells_the_memory_of_this_process") {
  const ResidentMemory now = resident_memory();
  CHECK(now.now > kMiB);
  CHECK(now.peak >= now.now);
}

}  // namespace
}  // namespace cinnabar::train
