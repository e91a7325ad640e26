// Every target over its seeds, its kept findings and some hundred changed seeds: what libFuzzer would do for hours.
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "fuzz/inputs.h"

namespace cinnabar::fuzz {
namespace {

void check_input(const Target& target, Input input, const std::string& name) {
  // An exact-size heap copy, so that a read behind the end is seen by the address sanitizer.
  const Bytes exact(input.begin(), input.end());
  try {
    run_input(target, exact);
  } catch (const std::exception& error) {
    FAIL_CHECK(target.name, ": ", name, ": ", error.what());
  }
}

TEST_CASE("there_is_a_target_for_every_parser") { CHECK(targets().size() == 13); }

TEST_CASE("no_seed_and_no_kept_finding_breaks_a_promise") {
  for (const Target& target : targets()) {
    const std::vector<NamedInput> seeds = seeds_of(target);
    CHECK_MESSAGE(seeds.size() >= 50, target.name);
    for (const NamedInput& seed : seeds) check_input(target, seed.bytes, seed.path.string());
    for (const NamedInput& kept : kept_findings_of(target)) check_input(target, kept.bytes, kept.path.string());
  }
}

TEST_CASE("no_changed_seed_breaks_a_promise") {
  constexpr size_t kRuns = 300;
  for (const Target& target : targets()) {
    const std::vector<NamedInput> seeds = seeds_of(target);
    REQUIRE(!seeds.empty());
    Mutator mutator(1, dictionary_of(target), target.max_bytes);
    for (size_t i = 0; i < kRuns; ++i) {
      const NamedInput& seed = seeds[i % seeds.size()];
      const Bytes input = mutator.changed(seed.bytes, seeds[(i * 7 + 3) % seeds.size()].bytes);
      check_input(target, input, seed.path.filename().string() + " changed, run " + std::to_string(i));
    }
  }
}

TEST_CASE("a_broken_promise_is_seen") {
  const Target broken{"broken", 10, [](Input) { require(false, "never"); }};
  CHECK_THROWS_AS(run_input(broken, {}), BrokenPromise);
  const Target internal{"internal", 10, [](Input) { CINNABAR_ASSERT(false); }};
  CHECK_THROWS_AS(run_input(internal, {}), BrokenPromise);
  const Target refusing{"refusing", 10, [](Input) { throw base::Error(base::ErrorCode::Format, "no"); }};
  CHECK_NOTHROW(run_input(refusing, {}));
}

TEST_CASE("words_of_a_dictionary") {
  const auto words = words_of("# no \"word\"\n\"a\\x00b\"\nname=\"\\xff\"\n\n");
  REQUIRE(words.size() == 2);
  CHECK(words[0] == Bytes{std::byte{'a'}, std::byte{0}, std::byte{'b'}});
  CHECK(words[1] == Bytes{std::byte{255}});
}

}  // namespace
}  // namespace cinnabar::fuzz
