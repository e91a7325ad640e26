// Changes inputs at random, for builds without libFuzzer.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "fuzz/fuzz_target.h"

namespace cinnabar::fuzz {

using Bytes = std::vector<std::byte>;

class Mutator {
 public:
  // The same seed gives the same changes everywhere. `words`: pieces that the parser knows; may be empty.
  Mutator(uint64_t seed, std::vector<Bytes> words, size_t max_bytes);

  // `from` with one to five changes; pieces of `other` may be put in.
  Bytes changed(Input from, Input other);

 private:
  void change(Bytes& bytes, Input other);
  size_t below(size_t bound);  // bound > 0
  void insert(Bytes& bytes, Input piece);

  std::mt19937_64 random_;
  std::vector<Bytes> words_;
  size_t max_bytes_;
};

// The words of a dictionary in libFuzzer's form: a quoted word a line, \xAB for bytes, # for comments.
std::vector<Bytes> words_of(std::string_view dictionary);

}  // namespace cinnabar::fuzz
