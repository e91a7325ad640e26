#include <doctest/doctest.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/cli/schema_command.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::cli {

namespace {

TEST_CASE("the_page_of_options_is_current") {
  const std::string page = base::read_file(std::string(CINNABAR_TESTS_DIR) + "/../docs/options.md");
  CHECK_MESSAGE(page == schema::options_markdown(described_commands()),
                "docs/options.md is not current: run  build/dev/bin/cinnabar schema --markdown > docs/options.md");
}

TEST_CASE("registries_reach_the_schema") {
  const schema::Schema schema = jobs::train_schema();
  for (const char* selector : {"network_module", "optimizer_type", "lr_scheduler", "loss_type", "sample_sampler"}) {
    bool is_found = false;
    for (const schema::EntryTable& table : schema.tables()) {
      if (table.selector == selector) is_found = !table.entries.empty();
    }
    CHECK_MESSAGE(is_found, selector);
  }
  CHECK(schema.find("min_snr_gamma") != nullptr);
  CHECK(schema.find("noise_offset") != nullptr);
}

TEST_CASE("defaults_of_selecting_options_are_entries") {
  for (const schema::Schema& schema : {jobs::train_schema(), jobs::sample_schema()}) {
    for (const schema::EntryTable& table : schema.tables()) {
      if (table.selector.empty()) continue;
      const std::string fallback = schema::value_text(schema.find(table.selector)->fallback);
      // An option that is unset selects nothing.
      CHECK_MESSAGE((fallback.empty() || table.find(fallback) != nullptr), table.selector, " = ", fallback);
    }
  }
}

TEST_CASE("rows_of_registries_have_label_and_help") {
  const schema::Schema schema = jobs::train_schema();
  for (const schema::EntryTable& table : schema.tables()) {
    for (const schema::Entry& entry : table.entries) {
      CHECK_MESSAGE(!entry.help.empty(), entry.name);
      for (const schema::Option& option : entry.options) {
        INFO(entry.name, " ", option.name);
        CHECK_FALSE(option.label.empty());
        CHECK_FALSE(option.help.empty());
        CHECK_FALSE(option.group.empty());
      }
    }
  }
}

}  // namespace

}  // namespace cinnabar::cli
