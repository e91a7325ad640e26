#include "cinnabar/adapters/python_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace cinnabar::adapters;
using cinnabar::schema::Value;

TEST_CASE("floats_have_the_shortest_digits_in_python_s_layout") {
  // Values on the right were printed by Python 3.11.
  CHECK(python_float(1e-4) == "0.0001");
  CHECK(python_float(5e-5) == "5e-05");
  CHECK(python_float(1.0) == "1.0");
  CHECK(python_float(-0.0) == "-0.0");
  CHECK(python_float(0.1) == "0.1");
  CHECK(python_float(123456.789) == "123456.789");
  CHECK(python_float(-2.5e-7) == "-2.5e-07");
  CHECK(python_float(1e15) == "1000000000000000.0");
  CHECK(python_float(1e16) == "1e+16");
  CHECK(python_float(1.5e300) == "1.5e+300");
  CHECK(python_float(1718000000.1234567) == "1718000000.1234567");
  CHECK(python_float(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(python_float(std::nan("")) == "nan");
}

TEST_CASE("values_print_as_str_does") {
  CHECK(python_str(Value{}) == "None");
  CHECK(python_str(Value{true}) == "True");
  CHECK(python_str(Value{int64_t{16}}) == "16");
  CHECK(python_str(Value{16.0}) == "16.0");
  CHECK(python_str(Value{std::string("cosine")}) == "cosine");
  CHECK(python_str(Value{std::vector<double>{1e-4, 5e-5}}) == "[0.0001, 5e-05]");
  CHECK(python_str(Value{std::vector<std::string>{"a", "it's"}}) == "['a', \"it's\"]");
}

TEST_CASE("literals_are_printed_back_as_python_values") {
  CHECK(python_literal("0.9,0.99") == "(0.9, 0.99)");
  CHECK(python_literal("(0.9,0.990)") == "(0.9, 0.99)");
  CHECK(python_literal("[1, 2.50]") == "[1, 2.5]");
  CHECK(python_literal("0.10") == "0.1");
  CHECK(python_literal("1e-3") == "0.001");
  CHECK(python_literal("True") == "True");
  CHECK(python_literal("'constant'") == "constant");
  CHECK(python_literal("(1,)") == "(1,)");
}

TEST_CASE("json_has_python_s_separators_and_escapes") {
  const nlohmann::ordered_json value{
      {"b", {1, 2.0, nullptr, true}}, {"a", "caf\xC3\xA9 \"x\""}, {"e", nlohmann::ordered_json::object()}};
  CHECK(python_json(value) == R"({"b": [1, 2.0, null, true], "a": "caf\u00e9 \"x\"", "e": {}})");
}
