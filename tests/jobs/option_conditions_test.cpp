// Conditions of the rows that all modules register for a training.
#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/schema/condition.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::jobs {

namespace {

TEST_CASE("conditions of options name options and values that there are") {
  const schema::Schema schema = train_schema();
  int seen = 0;
  for (const schema::Option& option : schema.options()) {
    if (option.shown_if.empty()) continue;
    INFO(option.name, ": ", option.shown_if);
    ++seen;
    for (const schema::Clause& clause : schema::parse_condition(option.shown_if)) {
      const schema::Option* other = schema.find(clause.option);
      REQUIRE(other != nullptr);
      CHECK(other->name != option.name);
      const auto table = std::ranges::find(schema.tables(), clause.option, &schema::EntryTable::selector);
      for (const std::string& value : clause.values) {
        const bool is_entry = table != schema.tables().end() && table->find(value) != nullptr;
        CHECK_MESSAGE((is_entry || std::ranges::find(other->choices, value) != other->choices.end()), value);
      }
    }
  }
  CHECK(seen >= 30);
}

}  // namespace

}  // namespace cinnabar::jobs
