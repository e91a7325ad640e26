// Counter-based random numbers: every draw is a function of (seed, purpose, a, b), so nothing depends on threads, batch
// split, world size or restarts (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011: Philox4x32-10).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace cinnabar::base {

// What a stream is used for. Values are part of the file format of saved states: never renumber.
enum class Purpose : uint32_t {
  Noise = 1,
  NoiseOffset = 2,
  Timestep = 3,
  NetworkDropout = 4,
  Shuffle = 5,
  Flip = 6,
  CaptionDropout = 7,
  CaptionShuffle = 8,
  Crop = 9,
  AdapterInit = 10,
  ModelInit = 11,
  LatentSample = 12,
  SamplerNoise = 13,
  Validation = 14,
  Colour = 15,
  InputPerturbation = 16,
  PyramidNoise = 17,
  Synthetic = 18,
};

// `a` and `b` name the item, for instance a = epoch or optimizer step, b = sample index. Copies continue independently.
class RandomStream {
 public:
  RandomStream(uint64_t seed, Purpose purpose, uint64_t a = 0, uint64_t b = 0);

  uint32_t next_u32();
  // Uniform in [0, 1), 53 random bits.
  double uniform();
  // Uniform in [low, high), high > low, without modulo bias.
  int64_t integer(int64_t low, int64_t high);
  // Standard normal (Box-Muller in double).
  double normal();
  void fill_normal(std::span<float> out);
  void fill_uniform(std::span<float> out, float low, float high);

  // Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<size_t>(integer(0, static_cast<int64_t>(i)))]);
  }

 private:
  void refill();

  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  uint32_t used_ = 4;
  bool has_spare_ = false;
  double spare_ = 0.0;
};

}  // namespace cinnabar::base
