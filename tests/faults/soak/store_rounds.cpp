// The store of runs on a disk that fails or loses power.
#include "faults/soak/tally.h"
#include "jobs/store_trials.h"

namespace cinnabar::soak {

namespace {

Tally tally_of(const jobs::StoreTrials& trials) {
  Tally tally;
  tally.rounds = trials.rounds;
  tally.numbers = trials.numbers;
  for (const std::string& text : trials.failures) tally.fail(text);
  return tally;
}

}  // namespace

Tally test_store_faults(const Settings& settings) { return tally_of(jobs::try_store_faults(settings.count(9, 1))); }

Tally test_store_power_loss(const Settings& settings) {
  return tally_of(jobs::try_store_power(settings.count(40, 500), settings.seed));
}

}  // namespace cinnabar::soak
