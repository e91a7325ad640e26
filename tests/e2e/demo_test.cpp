#include <doctest/doctest.h>

#include "e2e/program.h"

TEST_CASE("the_quick_demo_learns_its_character") {
  const cinnabar::test::Program program;
  const auto ended = program.run({"demo", "--quick", "--output_dir", "demo"});
  INFO(ended.text);
  CHECK(ended.status == 0);
  CHECK(ended.text.find("The character is there.") != std::string::npos);
  CHECK(std::filesystem::exists(program.folder() / "demo/before_after.png"));
  CHECK(std::filesystem::exists(program.folder() / "demo/zibo.safetensors"));
}
