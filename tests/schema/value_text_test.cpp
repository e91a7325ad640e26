#include "cinnabar/schema/value_text.h"

#include <doctest/doctest.h>

namespace cinnabar::schema {

namespace {

Option of(Type type) { return {.name = "option", .type = type}; }

Value parsed(Type type, const char* text) { return parse_value(of(type), text).value(); }
bool is_refused(Type type, const char* text) { return !parse_value(of(type), text).has_value(); }

TEST_CASE("steps_are_counts_shares_or_percentages") {
  CHECK(parsed(Type::Steps, "100") == Value(100));
  CHECK(parsed(Type::Steps, "0.1") == Value(0.1));
  CHECK(parsed(Type::Steps, "10%") == Value(0.1));
  CHECK(parsed(Type::Steps, "0") == Value(0));
  for (const char* text : {"1.5", "100.0", "-1", "120%", "ten", "", "%"}) CHECK(is_refused(Type::Steps, text));
}

TEST_CASE("sizes_are_one_side_or_two") {
  CHECK(parsed(Type::Size, "512") == Value("512,512"));
  CHECK(parsed(Type::Size, "512,768") == Value("512,768"));
  CHECK(parsed(Type::Size, "512x768") == Value("512,768"));
  for (const char* text : {"512x", ",512", "0", "-8,8", "512,768,3", "big", "99999999999999999999"}) {
    CHECK(is_refused(Type::Size, text));
  }
}

TEST_CASE("numbers_are_read_whole_or_not_at_all") {
  CHECK(parsed(Type::Int, "+7") == Value(7));
  CHECK(parsed(Type::Float, "1e-4") == Value(1e-4));
  CHECK(parsed(Type::Float, "16") == Value(16.0));
  for (const char* text : {"7.5", "0x10", "7 apples", "", "9223372036854775808"}) CHECK(is_refused(Type::Int, text));
  for (const char* text : {"nan", "inf", "1e999", "1,5", ""}) CHECK(is_refused(Type::Float, text));
}

TEST_CASE("range_and_choices_are_named_in_what_is_expected") {
  const Option rank{.name = "network_dim", .type = Type::Int, .range = {{1, 1024}}};
  CHECK(check_value(rank, Value(1024)).empty());
  CHECK(check_value(rank, Value(0)) == "expected a whole number from 1 to 1024");
  const Option length{.name = "max_token_length", .type = Type::Int, .choices = {"75", "150"}};
  CHECK(check_value(length, Value(150)).empty());
  CHECK(check_value(length, Value(80)) == "expected one of 75, 150");
  const Option rates{.name = "text_encoder_lr", .type = Type::FloatList, .range = {{0, 1}}};
  CHECK_FALSE(check_value(rates, Value(std::vector<double>{0.5, 2.0})).empty());
}

TEST_CASE("numbers_print_as_python_does_for_common_values") {
  CHECK(number_text(0.0001) == "0.0001");
  CHECK(number_text(5e-05) == "5e-05");
  CHECK(number_text(16.0) == "16.0");
  CHECK(number_text(0.1) == "0.1");
}

}  // namespace

}  // namespace cinnabar::schema
