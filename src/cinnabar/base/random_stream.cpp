#include "cinnabar/base/random_stream.h"

#include <cmath>
#include <numbers>

#include "cinnabar/base/error.h"

namespace cinnabar::base {

namespace {

// SplitMix64 (Steele et al. 2014): spreads (seed, purpose, a, b) over the 192 bits of key and counter.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t kM0 = 0xD2511F53U;
  constexpr uint64_t kM1 = 0xCD9E8D57U;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kM0 * counter[0];
    const uint64_t p1 = kM1 * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, Purpose purpose, uint64_t a, uint64_t b) {
  const uint64_t key = mix(seed ^ mix(static_cast<uint64_t>(purpose)));
  const uint64_t item = mix(mix(a) + 0x632BE59BD9B4E019ULL * b + 1);
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  counter_ = {0, 0, static_cast<uint32_t>(item), static_cast<uint32_t>(item >> 32)};
}

void RandomStream::refill() {
  block_ = philox(counter_, key_);
  if (++counter_[0] == 0) ++counter_[1];
  used_ = 0;
}

uint32_t RandomStream::next_u32() {
  if (used_ == 4) refill();
  return block_[used_++];
}

double RandomStream::uniform() {
  const uint64_t high = next_u32();
  const uint64_t low = next_u32();
  return static_cast<double>((high << 21) ^ (low >> 11)) * 0x1.0p-53;
}

int64_t RandomStream::integer(int64_t low, int64_t high) {
  CINNABAR_ASSERT(high > low);
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const uint64_t limit = UINT64_MAX - UINT64_MAX % range;
  uint64_t draw = 0;
  do {
    draw = (static_cast<uint64_t>(next_u32()) << 32) | next_u32();
  } while (draw >= limit);
  return low + static_cast<int64_t>(draw % range);
}

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

void RandomStream::fill_normal(std::span<float> out) {
  for (float& value : out) value = static_cast<float>(normal());
}

void RandomStream::fill_uniform(std::span<float> out, float low, float high) {
  for (float& value : out) value = low + (high - low) * static_cast<float>(uniform());
}

}  // namespace cinnabar::base
