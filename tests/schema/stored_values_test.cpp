#include "cinnabar/schema/stored_values.h"

#include <doctest/doctest.h>

#include "cinnabar/schema/config_text.h"
#include "cinnabar/schema/extension_rule.h"
#include "cinnabar/schema/option_groups.h"

namespace cinnabar::schema {

namespace {

std::string problem_of(const std::string& values) {
  const Config config = parse_config_json(R"({"cinnabar_config": 1, "command": "train", "values": {)" + values + "}}");
  try {
    check_stored_values(train_schema(), config.values);
    return "";
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ErrorCode::Config);
    return error.message();
  }
}

TEST_CASE("stored_values_of_another_range_or_type_are_named") {
  CHECK(problem_of(R"("network_dim": -1)").find("network_dim = -1: expected a whole number") != std::string::npos);
  CHECK(problem_of(R"("network_dim": "x")").find("network_dim = x") != std::string::npos);
  CHECK(problem_of(R"("flip_aug": 3)").find("flip_aug = 3") != std::string::npos);
  CHECK(problem_of(R"("mixed_precision": "fp8")").find("mixed_precision = fp8: expected one of") != std::string::npos);
  CHECK(problem_of(R"("resolution": "wide")").find("resolution = wide") != std::string::npos);
}

TEST_CASE("stored_values_as_this_program_writes_them_pass") {
  Schema schema = train_schema();
  Config config{.command = "train"};
  for (const Option& option : schema.options()) config.values.set(option.name, option.fallback);
  config.values.set("learning_rate", int64_t{1});
  check_stored_values(schema, parse_config_json(config_json(schema, config)).values);
}

TEST_CASE("extensions_are_endings_of_names") {
  for (const char* fine : {".txt", "txt", ".tags.txt", ".CAPTION", ".txt~"}) {
    CAPTURE(fine);
    CHECK(extension_problem(fine).empty());
  }
  for (const char* odd : {"", ".", "..", "/", "*", ".*", ".txt/../1.txt", ".txt\n", " ", ".txt."}) {
    CAPTURE(odd);
    CHECK_FALSE(extension_problem(odd).empty());
  }
}

}  // namespace

}  // namespace cinnabar::schema
