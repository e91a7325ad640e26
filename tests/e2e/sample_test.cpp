#include <doctest/doctest.h>

#include <fstream>

#include "cinnabar/data/picture.h"
#include "cinnabar/data/png_writer.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

std::vector<std::filesystem::path> pictures_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".png") found.push_back(entry.path());
  }
  return found;
}

}  // namespace

TEST_CASE("samples_with_a_trained_lora_and_writes_the_parameters") {
  const Program program;
  const Ended trained = program.run(Program::short_training("net", {"--max_train_steps", "1"}));
  INFO(trained.text);
  REQUIRE(trained.status == 0);
  const Ended ended =
      program.run({"sample", "--pretrained_model_name_or_path", "embedded", "--lora", "out/net.safetensors:0.8",
                   "--prompt", "red apple on a blue background", "--negative_prompt", "house", "--sample_steps", "3",
                   "--scale", "2", "--seed", "7", "--sample_sampler", "euler_a", "--output_dir", "pictures"});
  INFO(ended.text);
  REQUIRE(ended.status == 0);
  const auto pictures = pictures_in(program.folder() / "pictures");
  REQUIRE(pictures.size() == 1);
  const auto picture = cinnabar::data::load_picture(pictures.front());
  CHECK(picture.width == 64);
  CHECK(picture.height == 64);
  const std::string text = cinnabar::data::read_png_texts(pictures.front()).at("parameters");
  INFO(text);
  CHECK(text.starts_with("red apple on a blue background"));
  CHECK(text.find("Negative prompt: house") != std::string::npos);
  CHECK(text.find("Steps: 3, Sampler: Euler a") != std::string::npos);
  CHECK(text.find("Seed: 7") != std::string::npos);
  CHECK(text.find("Lora hashes: \"net: ") != std::string::npos);
}

TEST_CASE("previews_of_a_training_have_the_names_of_the_reference") {
  const Program program;
  std::ofstream(program.folder() / "prompts.txt") << "# two\nlion on a white background --d 3 --s 2\nfox --s 2 --x\n";
  const Ended ended =
      program.run(Program::short_training("net", {"--max_train_steps", "2", "--sample_every_n_steps", "2",
                                                  "--sample_prompts", "prompts.txt", "--sample_sampler", "euler"}));
  INFO(ended.text);
  REQUIRE(ended.status == 0);
  const auto pictures = pictures_in(program.folder() / "out" / "sample");
  REQUIRE(pictures.size() == 2);
  for (const auto& path : pictures) CHECK(path.filename().string().starts_with("net_000002_0"));
  CHECK(ended.text.find("prompts.txt:3") != std::string::npos);
}
