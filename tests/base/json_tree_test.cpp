#include "cinnabar/base/json_tree.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace cinnabar::base {
namespace {

using Json = nlohmann::ordered_json;

std::string reason(std::string_view text, const JsonLimits& limits = {}) {
  Json tree;
  const auto fault = read_json_tree(text, tree, limits);
  if (fault) CHECK(tree.is_null());
  return fault ? fault->reason : "";
}

TEST_CASE("gives_the_same_tree_as_the_library_in_the_order_of_the_file") {
  for (const std::string text :
       {R"({"b":[1,-2,0.5,true,null,"x",{}],"a":{"c":{"d":[[],[[1]]]}}})", R"("text")", "7", "null", "[]",
        R"({"":"","é":"ü\u00e9\n"})", R"([{"a":1},{"a":2}])", "[18446744073709551615,-9223372036854775808]"}) {
    CAPTURE(text);
    Json tree;
    REQUIRE(!read_json_tree(text, tree));
    CHECK(tree == Json::parse(text));
    CHECK(tree.dump() == Json::parse(text).dump());
  }
}

TEST_CASE("what_is_no_JSON_is_refused_with_its_place") {
  Json tree;
  const auto fault = read_json_tree("{\"a\": 1,\n \"b\": }", tree);
  REQUIRE(fault);
  CHECK(fault->reason == "not valid JSON");
  CHECK(fault->byte == 16);
  for (const char* text : {"", "{", "[1,]", "{} {}", "{'a':1}", "nan", "[1] x", "\"\xff\"", "\"\\ud800\"", "// c\n1"}) {
    CAPTURE(text);
    CHECK(reason(text) == "not valid JSON");
  }
  CHECK(reason("[1e999]") == "a number is out of range");
}

TEST_CASE("keys_that_occur_twice_are_refused") {
  CHECK(reason(R"({"a":1,"b":2,"a":3})") == "the key \"a\" occurs twice in one table");
  CHECK(reason(R"({"x":{"a":1,"\u0061":3}})") == "the key \"a\" occurs twice in one table");
  CHECK(reason(R"({"a":{"a":1},"b":{"a":3}})").empty());
}

TEST_CASE("limits_hold") {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(reason(nested(64)).empty());
  CHECK(reason(nested(65)) == "lists or tables nest deeper than 64 levels");
  CHECK(reason(std::string(1'000'000, '[')) == "lists or tables nest deeper than 64 levels");
  CHECK(reason(R"({"a":1,"b":{"c":2}})", {.keys = 3}).empty());
  CHECK(reason(R"({"a":1,"b":{"c":2}})", {.keys = 2}) == "more than 2 keys");
  CHECK(reason("{\"" + std::string(256, 'k') + "\":1}").empty());
  CHECK(reason("{\"" + std::string(257, 'k') + "\":1}").find("has 257 bytes; at most 256") != std::string::npos);
}

// The library's own builder needs minutes for this object.
TEST_CASE("an_object_of_many_keys_takes_no_time") {
  std::string text = "{";
  for (int i = 0; i < 20'000; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  CHECK(reason(text + "}").empty());
  CHECK(reason(text + ",\"7\":1}") == "the key \"7\" occurs twice in one table");
}

}  // namespace
}  // namespace cinnabar::base
