#include "cinnabar/sample/parameters_text.h"

#include <doctest/doctest.h>

#include "cinnabar/data/png_writer.h"
#include "cinnabar/samplers/entry.h"
#include "sample/tiny_model.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::sample;

const std::string kVersion = std::string("Cinnabar ") + CINNABAR_VERSION;

SampleRequest fox() {
  return {.prompt = "a fox",
          .negative_prompt = "fog",
          .width_px = 512,
          .height_px = 768,
          .steps = 20,
          .scale = 7.5,
          .seed = 42,
          .sampler = "euler_a"};
}

}  // namespace

TEST_CASE("the_text_has_the_order_and_grammar_of_the_web_ui") {
  const PictureFacts facts{.model_name = "base",
                           .model_hash = "0123456789",
                           .clip_skip = 2,
                           .has_karras_sigmas = true,
                           .loras = {{"dog", 0.8, "aabbccddeeff"}, {"cat", 1.0, "112233445566"}}};
  CHECK(parameters_text(fox(), facts) ==
        "a fox <lora:dog:0.8> <lora:cat:1>\n"
        "Negative prompt: fog\n"
        "Steps: 20, Sampler: Euler a, Schedule type: Karras, CFG scale: 7.5, Seed: 42, Size: 512x768, "
        "Model hash: 0123456789, Model: base, Clip skip: 2, Lora hashes: \"dog: aabbccddeeff, cat: 112233445566\", "
        "Version: " +
            kVersion);
}

TEST_CASE("what_is_not_known_is_left_out") {
  SampleRequest request = fox();
  request.negative_prompt.clear();
  request.scale = 1.0;
  CHECK(parameters_text(request, {}) ==
        "a fox\nSteps: 20, Sampler: Euler a, CFG scale: 1, Seed: 42, Size: 512x768, Version: " + kVersion);
}

TEST_CASE("values_with_separators_are_quoted") {
  const std::string text = parameters_text(fox(), {.model_name = "base, v2: \"best\""});
  CHECK(text.find(R"(Model: "base, v2: \"best\"", Version)") != std::string::npos);
}

TEST_CASE("every_sampler_has_a_label_and_ddim_no_karras_levels") {
  for (const std::string& name : samplers::entries().names()) {
    CAPTURE(name);
    CHECK_FALSE(samplers::entries().at(name).label.empty());
  }
  CHECK(samplers::entries().at("k_euler_a").label == "Euler a");
  CHECK(samplers::entries().at("dpmsolver++").label == "DPM++ 2M");
  SampleRequest request = fox();
  request.sampler = "ddim";
  CHECK(parameters_text(request, {.has_karras_sigmas = true}).find("Karras") == std::string::npos);
}

TEST_CASE("the_text_comes_back_from_the_png_file") {
  const TemporaryFolder folder;
  SampleRequest request = fox();
  request.prompt = "ein Füchslein, 狐";
  const std::string text = parameters_text(request, {});
  data::save_png(folder.path / "a.png", data::blank_picture({2, 2}, 3), {{"parameters", text}});
  CHECK(data::read_png_texts(folder.path / "a.png").at("parameters") == text);
}
