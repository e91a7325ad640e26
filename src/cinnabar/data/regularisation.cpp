#include "cinnabar/data/regularisation.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "cinnabar/base/random_stream.h"

namespace cinnabar::data {

namespace {

// Key of the order of regularisation pictures beside the shuffles of batches, which use small numbers.
constexpr uint64_t kRotationKey = 0xFFFF'FFFF'0000'0001U;

// Repeats for `own`, starting at `first` and going round; returns how many pictures the first round reached.
size_t assign(const std::vector<int64_t>& own, size_t first, int64_t wanted, std::vector<int64_t>& result) {
  const size_t count = own.size();
  result.assign(count, 0);
  int64_t total = 0;
  size_t reached = 0;
  for (; reached < count && total < wanted; ++reached) {
    const size_t i = (first + reached) % count;
    result[i] = own[i];
    total += own[i];
  }
  for (size_t i = 0; count > 0 && total < wanted; ++i, ++total) ++result[(first + i) % count];
  return reached;
}

int64_t sum(const std::vector<int64_t>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), int64_t{0}); }

// Where the epoch starts. With too few pictures the rounds of one move on; with enough of them the first round does.
size_t first_of(const std::vector<int64_t>& own, int64_t wanted, uint64_t epoch) {
  const size_t count = own.size();
  const int64_t available = sum(own);
  if (available < wanted) {
    const auto extra = static_cast<uint64_t>(wanted - available) % count;
    return static_cast<size_t>((epoch - 1) % count * extra % count);
  }
  // At most `count` places, so the way through them repeats: walked until a place comes again.
  std::vector<size_t> way;
  std::vector<size_t> seen_at(count, count);
  std::vector<int64_t> ignored;
  size_t place = 0;
  while (seen_at[place] == count && way.size() + 1 < epoch) {
    seen_at[place] = way.size();
    way.push_back(place);
    place = (place + assign(own, place, wanted, ignored)) % count;
  }
  if (way.size() + 1 >= epoch) return place;
  const size_t start = seen_at[place];
  const size_t period = way.size() - start;
  return way[start + static_cast<size_t>((epoch - 1 - start) % period)];
}

}  // namespace

void balance_regularisation(std::vector<Sample>& samples) {
  int64_t wanted = 0;
  std::vector<Sample*> reg;
  std::vector<int64_t> own;
  for (Sample& sample : samples) {
    if (!sample.is_reg) {
      wanted += sample.repeats;
      continue;
    }
    reg.push_back(&sample);
    own.push_back(sample.repeats);
  }
  std::vector<int64_t> repeats;
  assign(own, 0, wanted, repeats);
  for (size_t i = 0; i < reg.size(); ++i) reg[i]->repeats = repeats[i];
}

void balance_regularisation(Dataset& dataset) {
  for (Sample& sample : dataset.samples) sample.repeats = dataset.options.subsets.at(sample.subset).num_repeats;
  balance_regularisation(dataset.samples);
}

std::vector<int64_t> repeats_in_epoch(const Dataset& dataset, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> result;
  std::vector<size_t> order;  // of regularisation samples
  int64_t wanted = 0;
  for (size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    result.push_back(sample.repeats);
    if (sample.is_reg) {
      order.push_back(i);
    } else {
      wanted += sample.repeats;
    }
  }
  if (epoch <= 1 || order.empty() || wanted == 0) return result;
  const auto own_of = [&](size_t sample) {
    return dataset.options.subsets.at(dataset.samples[sample].subset).num_repeats;
  };
  std::vector<int64_t> own;
  std::ranges::transform(order, std::back_inserter(own), own_of);
  std::vector<int64_t> repeats;
  const int64_t available = sum(own);
  const size_t reached =
      available < wanted ? static_cast<size_t>(wanted - available) % own.size() : assign(own, 0, wanted, repeats);
  base::RandomStream random(seed, base::Purpose::Shuffle, 0, kRotationKey);
  random.shuffle(std::span(order).subspan(reached));
  own.clear();
  std::ranges::transform(order, std::back_inserter(own), own_of);
  assign(own, first_of(own, wanted, epoch), wanted, repeats);
  for (size_t i = 0; i < order.size(); ++i) result[order[i]] = repeats[i];
  return result;
}

RegularisationCount regularisation_count(const Dataset& dataset) {
  RegularisationCount count;
  for (const Sample& sample : dataset.samples) {
    if (!sample.is_reg) {
      count.wanted += sample.repeats;
      continue;
    }
    ++count.pictures;
    count.available += dataset.options.subsets.at(sample.subset).num_repeats;
    count.used += sample.repeats;
  }
  return count;
}

bool rotates(const Dataset& dataset) {
  const RegularisationCount count = regularisation_count(dataset);
  if (count.pictures == 0 || count.wanted == 0) return false;
  if (count.available < count.wanted) return (count.wanted - count.available) % count.pictures != 0;
  return std::ranges::any_of(dataset.samples, [](const Sample& sample) { return sample.repeats == 0; });
}

}  // namespace cinnabar::data
