#include "cinnabar/train/state_fields.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

using cinnabar::base::Error;
using cinnabar::train::StateFields;
using nlohmann::json;

TEST_CASE("a_field_that_is_missing_or_of_another_kind_is_named_with_the_file") {
  const json state = json::parse(R"({"a": {"n": -1, "big": 1e300, "word": "x"}, "list": 5, "steps": {"dog": "x"}})");
  const StateFields fields(state, "s/state.json");
  const StateFields a = fields.below("a");
  CHECK_THROWS_WITH_AS(a.count("lost"), doctest::Contains("s/state.json: the field a.lost is missing"), Error);
  CHECK_THROWS_WITH_AS(a.count("n"), doctest::Contains("a.n = -1, expected a whole number from 0"), Error);
  CHECK_THROWS_WITH_AS(a.count("big"), doctest::Contains("a.big = 1e+300, expected a whole number"), Error);
  CHECK_THROWS_WITH_AS(a.number("word"), doctest::Contains("a.word = \"x\", expected a number"), Error);
  CHECK_THROWS_WITH_AS(fields.list("list"), doctest::Contains("list = 5, expected a list"), Error);
  CHECK_THROWS_WITH_AS(fields.counts("steps"), doctest::Contains("steps.dog = \"x\""), Error);
  CHECK_THROWS_WITH_AS(fields.below("list"), doctest::Contains("list is 5, expected an object"), Error);
  CHECK_THROWS_WITH_AS(StateFields(json(), "s/state.json"), doctest::Contains("s/state.json: the content is null"),
                       Error);
}
