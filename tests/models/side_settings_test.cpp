#include "cinnabar/models/side_settings.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"

namespace cinnabar::models {

TEST_CASE("the first name that is there and not null counts") {
  const SideSettings settings(R"({"unet": {"num_heads": null, "heads": [2, 4]}, "scale": 2, "name": "x", "on": true})",
                              "f");
  CHECK(settings.integers({"unet.num_heads", "unet.heads"}) == std::vector<int64_t>{2, 4});
  CHECK(settings.integers({"scale"}) == std::vector<int64_t>{2});
  CHECK(settings.number({"unet.scale", "scale"}) == 2.0);
  CHECK(settings.text({"name"}) == "x");
  CHECK(settings.flag({"on"}) == true);
  CHECK_FALSE(settings.integer({"unet.num_heads", "vae.groups", "name.deeper"}).has_value());
  CHECK_FALSE(SideSettings("", "f").text({"name"}).has_value());
}

TEST_CASE("other types and other texts are refused with name and value") {
  const SideSettings settings(R"({"unet": {"groups": "many"}})", "model.safetensors");
  CHECK_THROWS_WITH_AS(settings.integer({"unet.groups"}),
                       "configuration of model.safetensors: unet.groups = \"many\": expected a whole number",
                       base::Error);
  CHECK_THROWS_AS(SideSettings("[1]", "f"), base::Error);
  CHECK_THROWS_AS(SideSettings("{", "f"), base::Error);
}

TEST_CASE("keys that nothing is read from are listed") {
  const SideSettings settings(
      R"({"unet": {"num_heads": 2, "mine": 1}, "vae": "other.vae.pt", "description": "x", "prediction_type": "v"})",
      "model.safetensors");
  CHECK(settings.unused_text() ==
        "the configuration beside model.safetensors has keys that are not used: description, unet.mine, vae");
  CHECK(SideSettings(R"({"unet": {"num_heads": 2}})", "f").unused_text().empty());
  CHECK(SideSettings("", "f").unused_text().empty());
}

}  // namespace cinnabar::models
