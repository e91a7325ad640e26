#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "cinnabar/formats/checkpoint.h"
#include "e2e/program.h"

using cinnabar::formats::Dtype;
using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

// How many tensors of the file have which type; alphas apart.
std::map<Dtype, size_t> types_of(const Program& program, const std::string& name) {
  const auto file = cinnabar::formats::Checkpoint::open(program.folder() / "out" / (name + ".safetensors"));
  std::map<Dtype, size_t> types;
  for (const auto& [key, view] : file->tensors()) {
    if (!key.ends_with(".alpha")) ++types[view.dtype];
  }
  return types;
}

void train(const Program& program, const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> options = {"--max_train_steps", "3"};
  options.insert(options.end(), more.begin(), more.end());
  const Ended ended = program.run(Program::short_training(name, options));
  INFO(ended.text);
  REQUIRE(ended.status == 0);
}

std::string weights_of(const Program& program, const std::string& name) {
  return cinnabar::formats::Checkpoint::open(program.folder() / "out" / (name + ".safetensors"))
      ->metadata()
      .at("sshs_model_hash");
}

}  // namespace

TEST_CASE("trains_in_fp16_with_weights_in_float32") {
  const Program program;
  train(program, "half", {"--mixed_precision", "fp16"});
  CHECK(types_of(program, "half").size() == 1);
  CHECK(types_of(program, "half").contains(Dtype::F32));
  train(program, "plain", {});
  CHECK(weights_of(program, "half") != weights_of(program, "plain"));
}

TEST_CASE("full_fp16_and_full_bf16_train_and_save_narrow_weights") {
  const Program program;
  train(program, "fp16", {"--mixed_precision", "fp16", "--full_fp16"});
  CHECK(types_of(program, "fp16").contains(Dtype::F16));
  CHECK(types_of(program, "fp16").size() == 1);
  train(program, "bf16", {"--mixed_precision", "bf16", "--full_bf16"});
  CHECK(types_of(program, "bf16").contains(Dtype::BF16));
  CHECK(types_of(program, "bf16").size() == 1);
  train(program, "asked", {"--mixed_precision", "bf16", "--full_bf16", "--save_precision", "float"});
  CHECK(types_of(program, "asked").contains(Dtype::F32));
}

TEST_CASE("full_fp16_without_mixed_precision_fp16_is_refused") {
  const Program program;
  const Ended ended = program.run(Program::short_training("no", {"--full_fp16"}));
  INFO(ended.text);
  CHECK(ended.status == 2);
  CHECK(ended.text.find("full_fp16") != std::string::npos);
  CHECK(ended.text.find("needs mixed_precision fp16") != std::string::npos);
}
