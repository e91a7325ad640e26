// When an option counts: reading, asking and telling conditions.
#include "cinnabar/schema/condition.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace cinnabar::schema {

namespace {

bool holds_with(const std::string& condition, const std::string& name, const Value& value) {
  Values values;
  values.set(name, value);
  return holds(parse_condition(condition), values);
}

TEST_CASE("a_condition_asks_whether_an_option_is_on") {
  CHECK(holds_with("ema", "ema", true));
  CHECK_FALSE(holds_with("ema", "ema", false));
  CHECK_FALSE(holds_with("ema", "other", true));
  CHECK(holds_with("noise_offset > 0", "noise_offset", 0.05));
  CHECK_FALSE(holds_with("noise_offset > 0", "noise_offset", 0.0));
  CHECK_FALSE(holds_with("save_every_n_steps", "save_every_n_steps", int64_t{0}));
  CHECK(holds_with("reg_data_dir", "reg_data_dir", std::string("reg")));
  CHECK_FALSE(holds_with("reg_data_dir", "reg_data_dir", std::string()));
}

TEST_CASE("a_condition_asks_for_values") {
  CHECK(holds_with("loss_type in huber, smooth_l1", "loss_type", std::string("smooth_l1")));
  CHECK_FALSE(holds_with("loss_type in huber, smooth_l1", "loss_type", std::string("l2")));
  CHECK(holds_with("lr_scheduler == polynomial", "lr_scheduler", std::string("polynomial")));
  CHECK_FALSE(holds_with("lr_scheduler == polynomial", "lr_scheduler", std::string("poly")));
}

TEST_CASE("one_clause_is_enough") {
  CHECK(holds_with("enable_bucket or dataset_config", "dataset_config", std::string("a.toml")));
  CHECK(holds_with("enable_bucket or dataset_config", "enable_bucket", true));
  CHECK_FALSE(holds_with("enable_bucket or dataset_config", "flip_aug", true));
}

TEST_CASE("a_condition_as_a_message_says_it") {
  CHECK(condition_text(parse_condition("loss_type in huber, smooth_l1")) == "loss_type = huber or smooth_l1");
  CHECK(condition_text(parse_condition("noise_offset > 0 or dataset_config")) == "noise_offset or dataset_config");
}

TEST_CASE("other_texts_are_no_conditions") {
  for (const char* text : {"", "ema &&", "ema > 1", "Ema", "ema == ", "a or ", "a b", "ema > 0 or"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_condition(text), base::Error);
  }
}

}  // namespace

}  // namespace cinnabar::schema
