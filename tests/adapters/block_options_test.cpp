#include "cinnabar/adapters/block_options.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/schema/key_values.h"

namespace {

using namespace cinnabar::adapters;

BlockOptions read(const std::vector<std::string>& args) {
  std::vector<cinnabar::schema::Option> rows = block_option_rows();
  return read_block_options(cinnabar::schema::read_key_values("network_args", args, rows));
}

std::vector<double> down(const std::string& text, size_t count) {
  return read({"down_lr_weight=" + text}).down->over(count);
}

}  // namespace

TEST_CASE("curves_run_over_the_blocks_as_the_reference_draws_them") {
  const auto near = [](const std::vector<double>& found, const std::vector<double>& expected) {
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
  };
  near(down("linear", 3), {0.0, 0.5, 1.0});
  near(down("reverse_linear", 3), {1.0, 0.5, 0.0});
  near(down("sine", 3), {0.0, 0.70710678118654752, 1.0});
  near(down("cosine+.25", 3), {1.25, 0.95710678118654752, 0.25});
  near(down("zeros+0.5", 2), {0.5, 0.5});
}

TEST_CASE("lists_take_empty_places_as_0_and_missing_ones_as_1") {
  CHECK(down("0.5,,2", 3) == std::vector<double>{0.5, 0.0, 2.0});
  CHECK(down("0.5,0.25", 4) == std::vector<double>{0.5, 0.25, 1.0, 1.0});
  CHECK(down("1,2,3", 2) == std::vector<double>{1.0, 2.0});
  CHECK(read({"mid_lr_weight=0.5"}).mid->over(1) == std::vector<double>{0.5});
}

TEST_CASE("mistakes_name_the_argument_and_what_is_expected") {
  using doctest::Contains;
  CHECK_THROWS_WITH_AS(read({"up_lr_weight=cosin"}), Contains("did you mean cosine"), cinnabar::base::Error);
  CHECK_THROWS_WITH_AS(read({"down_lr_weight=0.5"}), Contains("one number a block"), cinnabar::base::Error);
  CHECK_THROWS_WITH_AS(read({"down_lr_weight=1,x"}), Contains("\"x\" is not a number"), cinnabar::base::Error);
  CHECK_THROWS_WITH_AS(read({"down_lr_weight=sine+x"}), Contains("behind the +"), cinnabar::base::Error);
  CHECK_THROWS_WITH_AS(read({"mid_lr_weight=sine"}), Contains("mid_lr_weight"), cinnabar::base::Error);
  CHECK_THROWS_WITH_AS(read({"block_dims=1,2.5"}), Contains("whole numbers"), cinnabar::base::Error);
}

TEST_CASE("nothing_given_is_off") {
  CHECK_FALSE(read({}).is_on());
  CHECK_FALSE(read({"conv_block_dims=1,2"}).is_on());
  CHECK(read({"block_dims=1,2"}).is_on());
  CHECK(read({"mid_lr_weight=1"}).is_on());
}
