// The table of what each option changes has a row for every option of `cinnabar train`.
#include <algorithm>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/jobs/command_schemas.h"
#include "train/option_effects.h"

namespace {

using namespace cinnabar;

}  // namespace

TEST_CASE("every_option_of_train_has_a_row_that_says_what_it_changes") {
  std::set<std::string> rows;
  for (const test::OptionEffect& row : test::option_effects()) {
    CHECK_MESSAGE(rows.insert(row.option).second, row.option, " stands twice in tests/train/option_effects.cpp");
  }
  const schema::Schema schema = jobs::train_schema();
  for (const schema::Option& option : schema.options()) {
    CHECK_MESSAGE(rows.contains(option.name), option.name, " has no row in tests/train/option_effects.cpp");
  }
  for (const schema::EntryTable& table : schema.tables()) {
    if (table.arguments != "network_args") continue;
    for (const schema::Entry& entry : table.entries) {
      for (const schema::Option& option : entry.options) {
        const std::string row = table.arguments + "." + option.name;
        CHECK_MESSAGE(rows.contains(row), row, " (", entry.name, ") has no row in tests/train/option_effects.cpp");
      }
    }
  }
  for (const std::string& row : rows) {
    if (row.find('.') != std::string::npos) continue;
    CHECK_MESSAGE(schema.find(row) != nullptr, row, " in tests/train/option_effects.cpp is no option of train");
  }
}

TEST_CASE("options_that_one_run_cannot_show_have_a_test_that_names_them") {
  const std::filesystem::path root = std::filesystem::path(CINNABAR_TESTS_DIR).parent_path();
  for (const test::OptionEffect& row : test::option_effects()) {
    if (row.part != test::Part::Elsewhere) continue;
    INFO(row.option);
    REQUIRE(row.value.size() == 1);
    REQUIRE(std::filesystem::exists(root / row.value.front()));
    CHECK(base::read_file(root / row.value.front()).find(row.option) != std::string::npos);
  }
}
