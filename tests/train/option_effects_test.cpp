// Every option of `cinnabar train` changes what option_effects.cpp says that it changes. On SD1;
// CINNABAR_WALK_FAMILY=sd2 or sdxl takes another tiny model, on which a few rows do not hold (numbers of blocks,
// clip_skip of SDXL).
#include <algorithm>
#include <cstdlib>

#include <doctest/doctest.h>

#include "train/option_effects.h"
#include "train/run_outcome.h"

namespace {

using namespace cinnabar::test;

// Of a key such as "network_args.conv_dim": "network_args".
std::string list_of(const OptionEffect& row) {
  const size_t dot = row.option.find('.');
  return dot == std::string::npos ? "" : row.option.substr(0, dot);
}

Words with_option(const OptionEffect& row, const Words& value) {
  Words words = row.with;
  if (const std::string list = list_of(row); !list.empty()) {
    words.push_back("--" + list);
    words.insert(words.end(), row.other.begin(), row.other.end());
    if (value != row.other) words.insert(words.end(), value.begin(), value.end());
    return words;
  }
  const std::string name = "--" + row.option;
  const auto given = std::find(words.begin(), words.end(), name);
  REQUIRE_MESSAGE(given == words.end(), row.option, " stands in the options of both runs, too");
  words.push_back(name);
  words.insert(words.end(), value.begin(), value.end());
  return words;
}

}  // namespace

TEST_CASE("each_option_changes_what_it_says_it_changes") {
  const char* named = std::getenv("CINNABAR_WALK_FAMILY");
  Laboratory laboratory(named == nullptr ? "sd1" : named);
  for (const OptionEffect& row : option_effects()) {
    if (row.part == Part::Elsewhere) continue;
    INFO("option ", row.option);
    const auto without = laboratory.run(row.other.empty() ? row.with : with_option(row, row.other));
    const auto with = laboratory.run(with_option(row, row.value));
    CHECK_MESSAGE(part_of(without, Part::Error) == "", row.option, ": the first run fails");
    if (row.part == Part::Error) {
      CHECK_MESSAGE(part_of(with, Part::Error).find(row.option) != std::string::npos, row.option,
                    " in: ", part_of(with, Part::Error));
      continue;
    }
    CHECK_MESSAGE(part_of(with, Part::Error) == "", row.option, ": the second run fails");
    CHECK_MESSAGE(part_of(without, row.part) != part_of(with, row.part), row.option,
                  " changes nothing: ", part_of(with, row.part).substr(0, 200));
  }
}

TEST_CASE("two_runs_with_the_same_options_have_the_same_outcome") {
  Laboratory first;
  const auto one = first.run({"--sample_prompts", "prompts.txt", "--sample_at_first", "--logging_dir", "logs"});
  Laboratory second;
  const auto two = second.run({"--sample_prompts", "prompts.txt", "--sample_at_first", "--logging_dir", "logs"});
  for (const auto& [part, text] : one) CHECK(text == part_of(two, part));
}
