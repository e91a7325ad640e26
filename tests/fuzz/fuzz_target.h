// One fuzz target a parser. The same function runs under libFuzzer (CINNABAR_FUZZ) and, in every build, over the seeds
// and the kept findings.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::fuzz {

using Input = std::span<const std::byte>;

struct Target {
  std::string name;
  size_t max_bytes = 0;  // of an input that a fuzzer makes; larger ones only cost time
  void (*run)(Input) = nullptr;
};

// In order of registration.
std::vector<Target>& targets();
bool add_target(const char* name, size_t max_bytes, void (*run)(Input));
const Target& target(std::string_view name);

// A parser did something that no input may make it do. Not a base::Error, so nothing takes it for a refusal.
class BrokenPromise : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws BrokenPromise.
void require(bool holds, const char* promise);

// Runs one input: base::Error is a refusal and fine, as long as it says something and is not about a bug of ours.
// Anything else that is thrown is a finding.
void run_input(const Target& target, Input input);

std::string_view text_of(Input input);

}  // namespace cinnabar::fuzz

// CINNABAR_FUZZ_TARGET(npz, 4096) { ... `input` ... }
#define CINNABAR_FUZZ_TARGET(name, max_bytes)                                                                    \
  static void fuzz_##name(::cinnabar::fuzz::Input input);                                                        \
  [[maybe_unused]] static const bool added_##name = ::cinnabar::fuzz::add_target(#name, max_bytes, fuzz_##name); \
  static void fuzz_##name(::cinnabar::fuzz::Input input)
