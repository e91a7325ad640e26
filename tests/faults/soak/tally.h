// What a test of the soak program counts and finds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cinnabar::soak {

enum class Tier { T0, T1, T2 };

struct Settings {
  Tier tier = Tier::T0;
  uint64_t seed = 1;
  // By tier; T2 is ten times T1 (tests/faults/README.md).
  int64_t count(int64_t t0, int64_t t1) const { return tier == Tier::T0 ? t0 : tier == Tier::T1 ? t1 : 10 * t1; }
};

struct Tally {
  int64_t rounds = 0;
  std::vector<std::string> failures{};
  std::map<std::string, int64_t> numbers{};  // further counts for the ledger
  void fail(const std::string& text);        // also told at once
  void note_largest(const std::string& name, int64_t value);
};

// A line on stderr, so that a long run can be followed.
void tell(const std::string& text);

// The tests, each in a file of its own.
Tally test_random_kills(const Settings& settings);
Tally test_named_points(const Settings& settings);
Tally test_double_faults(const Settings& settings);
Tally test_signals(const Settings& settings);
Tally test_disk(const Settings& settings);
Tally test_numbers_and_memory(const Settings& settings);
Tally test_resume_equality(const Settings& settings);
Tally test_threads_and_parts(const Settings& settings);
Tally test_allocations(const Settings& settings);
Tally test_write_faults(const Settings& settings);
Tally test_read_faults(const Settings& settings);
Tally test_power_loss(const Settings& settings);
Tally test_real_limits(const Settings& settings);
Tally test_store_faults(const Settings& settings);
Tally test_store_power_loss(const Settings& settings);

}  // namespace cinnabar::soak
