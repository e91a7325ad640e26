#include <doctest/doctest.h>

#include <filesystem>

#include "cinnabar/noise/entry.h"
#include "cinnabar/noise/modifier.h"
#include "cinnabar/schema/key_values.h"

namespace cinnabar::noise {

TEST_CASE("every noise setting is off by default, describes itself and has a page") {
  CHECK(entries().names().size() >= 4);
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    const Entry& entry = entries().at(name);
    CHECK_FALSE(entry.help.empty());
    for (const schema::Option& option : entry.options) CHECK_FALSE(option.help.empty());
    CHECK(std::filesystem::exists(std::filesystem::path(CINNABAR_TESTS_DIR) / "../docs/noise" / (name + ".md")));
    if (const ModifierFactory* factory = modifiers().find(name)) {
      CHECK((*factory)(schema::read_key_values("options", {}, entry.options)) == nullptr);
    }
  }
  for (const std::string& name : modifiers().names()) CHECK(entries().find(name) != nullptr);
}

}  // namespace cinnabar::noise
