#include <doctest/doctest.h>

#include <filesystem>

#include "cinnabar/loss/element_loss.h"
#include "cinnabar/loss/entry.h"

namespace cinnabar::loss {

namespace {

bool has_page(const std::string& name) {
  return std::filesystem::exists(std::filesystem::path(CINNABAR_TESTS_DIR) / "../docs/loss" / (name + ".md"));
}

}  // namespace

TEST_CASE("every loss has code, a description and a page") {
  CHECK((entries().names() == element_losses().names()));
  CHECK((entries().names() == std::vector<std::string>{"huber", "l1", "l2", "smooth_l1"}));
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    CHECK_FALSE(entries().at(name).help.empty());
    CHECK(has_page(name));
  }
}

TEST_CASE("every loss weight has code, a page and an option of its own name that is off by default") {
  CHECK((weight_entries().names() == sample_weights().names()));
  for (const std::string& name : weight_entries().names()) {
    CAPTURE(name);
    const Entry& entry = weight_entries().at(name);
    CHECK(has_page(name));
    CHECK(entry.options.at(0).name == name);
    const schema::Value& fallback = entry.options.at(0).fallback;
    CHECK((fallback.index() == 0 || fallback == schema::Value(false)));
  }
}

}  // namespace cinnabar::loss
