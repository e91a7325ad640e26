#include "cinnabar/base/text_match.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace cinnabar::base {

namespace {

TEST_CASE("a_slip_of_the_finger_finds_the_nearest_name") {
  const std::vector<std::string> names{"euler", "euler_a", "dpm_2", "dpm_2_a", "dpmsolver++", "dpmsolver"};
  CHECK(nearest_name("eular", names) == "euler");
  CHECK(nearest_name("dpm2", names) == "dpm_2");
  CHECK(nearest_name("something else", names).empty());
}

TEST_CASE("a_name_whose_middle_was_left_out_finds_the_whole") {
  const std::vector<std::string> names{"dpm_2", "dpm_2_a", "dpmsolver++", "dpmsolver"};
  CHECK(nearest_name("dpm++", names) == "dpmsolver++");
}

}  // namespace

}  // namespace cinnabar::base
