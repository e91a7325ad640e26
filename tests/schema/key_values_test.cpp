#include "cinnabar/schema/key_values.h"

#include <doctest/doctest.h>

namespace cinnabar::schema {

namespace {

const std::vector<Option> kRows{
    {.name = "betas",
     .type = Type::FloatList,
     .fallback = std::vector<double>{0.9, 0.999},
     .range = Range{0.0, 0.9999}},
    {.name = "eps", .aliases = {"epsilon"}, .type = Type::Float, .fallback = 1e-8, .range = Range{0.0, 1.0}},
    {.name = "amsgrad", .type = Type::Flag, .fallback = false},
    {.name = "count", .type = Type::Int},
    {.name = "mode", .type = Type::Text, .fallback = std::string("a"), .choices = {"a", "b"}},
};

Values read(const std::vector<std::string>& texts) { return read_key_values("optimizer_args", texts, kRows); }

}  // namespace

TEST_CASE("rows that are not given have their fallback") {
  const Values values = read({});
  CHECK(values.numbers("betas").at(1) == 0.999);
  CHECK(values.number("eps") == 1e-8);
  CHECK_FALSE(values.flag("amsgrad"));
  CHECK_FALSE(values.has("count"));
}

TEST_CASE("values are read as Python writes them") {
  for (const char* betas : {"betas=0.8,0.9", "betas=(0.8, 0.9)", "betas = [0.8,0.9]"}) {
    CHECK(read({betas}).numbers("betas").at(0) == 0.8);
    CHECK(read({betas}).numbers("betas").at(1) == 0.9);
  }
  const Values values = read({"epsilon=1e-3", "amsgrad=True", "count=3", "mode='b'"});
  CHECK(values.number("eps") == 1e-3);
  CHECK(values.flag("amsgrad"));
  CHECK(values.integer("count") == 3);
  CHECK(values.text("mode") == "b");
  CHECK_FALSE(read({"eps=None"}).has("eps"));
}

TEST_CASE("all problems are reported at once") {
  try {
    read({"eps", "eps=1=2", "beta=0.9", "eps=x", "eps=2", "betas=0.9,nan", "mode=c", "count=1.5", "amsgrad=maybe"});
    FAIL("not refused");
  } catch (const base::Error& error) {
    const std::string message = error.message();
    CHECK(error.code() == base::ErrorCode::Config);
    for (const char* part :
         {"optimizer_args: \"eps\": expected one key=value", "\"eps=1=2\"", "did you mean \"betas\"?",
          "eps = \"x\": expected a number", "eps = 2: expected 0 to 1", "betas = 0.9,nan: expected 0 to 0.9999",
          "mode = \"c\": expected one of a, b", "count = \"1.5\": expected a whole number", "expected True or False"}) {
      CAPTURE(message);
      CHECK(message.find(part) != std::string::npos);
    }
  }
}

}  // namespace cinnabar::schema
