#include <doctest/doctest.h>

#include "cinnabar/formats/checkpoint.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

Ended train(const Program& program, const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> options = {"--max_train_steps", "4", "--validation_split", "0.1", "--cache_latents"};
  options.insert(options.end(), more.begin(), more.end());
  Ended ended = program.run(Program::short_training(name, options));
  INFO(ended.text);
  REQUIRE(ended.status == 0);
  return ended;
}

std::map<std::string, std::string> metadata_of(const Program& program, const std::string& name) {
  return cinnabar::formats::Checkpoint::open(program.folder() / "out" / (name + ".safetensors"))->metadata();
}

}  // namespace

TEST_CASE("validation_measures_and_ends_in_words") {
  const Program program;
  const Ended ended = train(program, "held",
                            {"--validate_every_n_steps", "1", "--max_validation_steps", "1", "--save_every_n_steps",
                             "2", "--logging_dir", "logs"});
  INFO(ended.text);
  CHECK(ended.text.find("pictures are held out and not trained.") != std::string::npos);
  CHECK(ended.text.find("Validation at step 1: loss ") != std::string::npos);
  CHECK(ended.text.find("too few measurements for a verdict") != std::string::npos);
  CHECK(ended.text.find("validation_best_step: ") != std::string::npos);
  CHECK(ended.text.find("the nearest saved file is held") != std::string::npos);
  CHECK(metadata_of(program, "held").at("ss_num_validation_images") != "0");
  CHECK(metadata_of(program, "held").at("ss_validate_every_n_steps") == "1");
}

TEST_CASE("validation_does_not_change_the_training") {
  const Program program;
  const std::vector<std::string> dropouts = {"--network_dropout", "0.3", "--caption_dropout_rate", "0.3"};
  auto often = dropouts;
  often.insert(often.end(), {"--validate_every_n_steps", "1", "--max_validation_steps", "1"});
  auto never = dropouts;
  never.insert(never.end(), {"--validate_every_n_epochs", "1000"});
  train(program, "often", often);
  const Ended ended = train(program, "never", never);
  CHECK(ended.text.find("Validation at step") == std::string::npos);
  CHECK(metadata_of(program, "often").at("sshs_model_hash") == metadata_of(program, "never").at("sshs_model_hash"));
}

TEST_CASE("the_same_weights_have_the_same_held_out_loss") {
  const Program program;
  // A learning rate that changes nothing in so few steps: every measurement gives the same number.
  const Ended ended = train(program, "still",
                            {"--learning_rate", "1e-30", "--validate_every_n_steps", "1", "--max_validation_steps", "1",
                             "--flip_aug", "--caption_dropout_rate", "0.9"});
  const auto loss_at = [&](int step) {
    const std::string start = "Validation at step " + std::to_string(step) + ": loss ";
    const size_t at = ended.text.find(start);
    REQUIRE(at != std::string::npos);
    return ended.text.substr(at + start.size(), 8);
  };
  CHECK(loss_at(1) == loss_at(2));
  CHECK(loss_at(1) == loss_at(4));
}
