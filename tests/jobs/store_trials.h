// The store of runs on a disk whose calls fail or that loses power: whatever happens to it, the runs are listed as
// their folders say, and afterwards the store is whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cinnabar::jobs {

struct StoreTrials {
  int64_t rounds = 0;
  std::vector<std::string> failures{};
  std::map<std::string, int64_t> numbers{};
};

// Every `stride`-th call below SQLite, with each error, once and for good; a new store and one that is added to.
StoreTrials try_store_faults(int64_t stride);
// Loss of power after about `rounds` calls, drawn by `seed`.
StoreTrials try_store_power(int64_t rounds, uint64_t seed);

}  // namespace cinnabar::jobs
