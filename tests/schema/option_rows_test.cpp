// Rules that every core row keeps, so that help, forms and docs are complete.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "cinnabar/schema/describe.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

std::vector<Schema> all_schemas() {
  return {train_schema(), sample_schema(), cache_schema(), init_model_schema(), demo_schema()};
}

bool has_type(const Option& option) {
  const size_t kind = option.fallback.index();
  switch (option.type) {
    case Type::Flag:
      return kind == 1;
    case Type::Int:
      return kind == 0 || kind == 2;
    case Type::Float:
    case Type::Steps:
      return kind == 0 || kind == 2 || kind == 3;
    default:
      return kind == 0 || kind == 4;
  }
}

TEST_CASE("every_row_has_group_label_and_a_sentence_of_help") {
  for (const Schema& schema : all_schemas()) {
    for (const Option& option : schema.options()) {
      INFO(option.name);
      CHECK_FALSE(option.group.empty());
      CHECK_FALSE(option.label.empty());
      CHECK(option.help.size() > 10);
      CHECK(option.help.back() == '.');
      CHECK(option.help.find('!') == std::string::npos);
    }
  }
}

TEST_CASE("every_default_is_of_its_type_and_allowed") {
  for (const Schema& schema : all_schemas()) {
    for (const Option& option : schema.options()) {
      INFO(option.name);
      CHECK(has_type(option));
      CHECK(check_value(option, option.fallback).empty());
    }
  }
}

TEST_CASE("typical_values_lie_within_the_allowed_ones") {
  const Schema schema = train_schema();
  for (const Option& option : schema.options()) {
    if (!option.typical || !option.range) continue;
    INFO(option.name);
    CHECK(option.typical->low >= option.range->low);
    CHECK(option.typical->high <= option.range->high);
  }
}

TEST_CASE("no_name_is_both_built_and_planned") {
  std::set<std::string_view> seen;
  const Schema schema = train_schema();
  for (const PlannedOption& option : planned_options()) {
    INFO(option.name);
    CHECK(seen.insert(option.name).second);
    CHECK_FALSE(option.why.empty());
    CHECK(schema.find(std::string(option.name)) == nullptr);
  }
}

TEST_CASE("help_and_page_name_every_option") {
  const Schema schema = train_schema();
  const std::string help = help_text(schema, 80);
  const std::string page = options_markdown({{"train", "Trains.", schema}});
  for (const Option& option : schema.options()) {
    CHECK(help.find("--" + option.name) != std::string::npos);
    CHECK(page.find("`" + option.name + "`") != std::string::npos);
  }
  for (const PlannedOption& option : planned_options()) CHECK(page.find(option.name) != std::string::npos);
  size_t start = 0;
  for (size_t end = help.find('\n'); end != std::string::npos; end = help.find('\n', start)) {
    const bool is_names = help.compare(start, 4, "  --") == 0;
    if (!is_names) CHECK(end - start <= 80);
    start = end + 1;
  }
}

}  // namespace

}  // namespace cinnabar::schema
