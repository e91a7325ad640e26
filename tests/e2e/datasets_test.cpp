#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/formats/checkpoint.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

namespace fs = std::filesystem;

constexpr const char* kTwoSets = R"([general]
caption_extension = ".txt"

[[datasets]]
resolution = 64
batch_size = 8
  [[datasets.subsets]]
  image_dir = "embedded"

[[datasets]]
resolution = 128
batch_size = 16
  [[datasets.subsets]]
  image_dir = "embedded"
  caption_prefix = "large,"
)";

Ended train(const Program& program, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"train",        "--pretrained_model_name_or_path",
                                    "embedded",     "--network_train_unet_only",
                                    "--output_dir", "out",
                                    "--seed",       "1",
                                    "--workspace",  "work"};
  words.insert(words.end(), more.begin(), more.end());
  return program.run(words);
}

// The report of the one run in the workspace.
nlohmann::json report_of(const Program& program) {
  for (const auto& run : fs::directory_iterator(program.folder() / "work" / "runs")) {
    return nlohmann::json::parse(cinnabar::base::read_file(run.path() / "dataset_report.json"));
  }
  return {};
}

bool holds(const Ended& ended, const std::string& part) { return ended.text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("two_data_sets_of_two_sizes_train_together") {
  const Program program;
  cinnabar::base::write_file(program.folder() / "data.toml", kTwoSets);
  const Ended ended = train(program, {"--dataset_config", "data.toml", "--max_train_epochs", "1", "--cache_latents"});
  INFO(ended.text);
  REQUIRE(ended.status == 0);
  CHECK(holds(ended, "Data set 1: 32 pictures with repeats, in batches of 8 at 64x64 pixels: 4 batches an epoch."));
  CHECK(holds(ended, "Data set 2: 32 pictures with repeats, in batches of 16 at 128x128 pixels: 2 batches an epoch."));
  CHECK(holds(ended, "Steps: 6 batches = 6 an epoch, 1 epoch, 6 steps."));
  const auto file = cinnabar::formats::Checkpoint::open(program.folder() / "out" / "last.safetensors");
  const auto sets = nlohmann::json::parse(file->metadata().at("ss_datasets"));
  REQUIRE(sets.size() == 2);
  CHECK(sets[0]["resolution"] == nlohmann::json({64, 64}));
  CHECK(sets[1]["resolution"] == nlohmann::json({128, 128}));
  CHECK(sets[1]["subsets"][0]["caption_prefix"] == "large,");
  CHECK(report_of(program)["datasets"].size() == 2);
}

TEST_CASE("a_broken_picture_is_left_out_before_while_and_without_caching") {
  const Program program;
  const std::string good = cinnabar::base::read_file(fs::path(CINNABAR_TESTS_DIR) / "data/pictures/transparent.png");
  std::string damaged = good;
  const size_t data = damaged.find("IDAT");
  REQUIRE(data != std::string::npos);
  for (size_t i = 0; i < 8; ++i) damaged[data + 4 + i] = '\x55';
  fs::create_directories(program.folder() / "img");
  cinnabar::base::write_file(program.folder() / "img/good.png", good);
  cinnabar::base::write_file(program.folder() / "img/damaged.png", damaged);
  cinnabar::base::write_file(program.folder() / "img/cut.png", good.substr(0, good.size() / 2));
  const std::vector<std::string> words = {"--train_data_dir", "img", "--resolution", "64", "--max_train_steps", "2"};
  for (const char* cache : {"--cache_latents", "--flip_aug"}) {
    std::vector<std::string> more = words;
    more.emplace_back(cache);
    const Ended ended = train(program, more);
    INFO(ended.text);
    CHECK(ended.status == 0);
    CHECK(holds(ended, "cut.png: the PNG is cut off"));
    CHECK(holds(ended, "damaged.png: it cannot be decoded"));
  }
  std::vector<std::string> strict = words;
  strict.emplace_back("--strict");
  const Ended ended = train(program, strict);
  INFO(ended.text);
  CHECK(ended.status == 1);
  CHECK(holds(ended, "strict: the scan left 2 things out"));
  CHECK_FALSE(holds(ended, "Loading the model"));
  // A scan decodes as well when it is strict, and only then.
  const Ended quick = program.run({"scan", "--train_data_dir", "img", "--resolution", "64"});
  INFO(quick.text);
  CHECK(quick.status == 0);
  CHECK(holds(quick, "1 left out"));
  const Ended scan = program.run({"scan", "--train_data_dir", "img", "--resolution", "64", "--strict"});
  INFO(scan.text);
  CHECK(scan.status == 1);
  CHECK(holds(scan, "damaged.png: it cannot be decoded"));
  CHECK(holds(scan, "strict: the scan left 2 things out"));
  const Ended json = program.run({"scan", "--train_data_dir", "img", "--resolution", "64", "--strict", "--json"});
  CHECK(json.status == 1);
  const size_t end = json.text.find("\n}\n");
  REQUIRE(end != std::string::npos);
  CHECK(nlohmann::json::parse(json.text.substr(0, end + 3))["summary"]["left_out"] == 2);
}

TEST_CASE("the_arithmetic_of_regularisation_is_shown") {
  const Program program;
  cinnabar::base::write_file(program.folder() / "data.toml",
                             "[[datasets]]\nresolution = 64\nbatch_size = 4\n"
                             "[[datasets.subsets]]\nimage_dir = \"few\"\nnum_repeats = 2\n"
                             "[[datasets.subsets]]\nimage_dir = \"embedded\"\nis_reg = true\n");
  const std::string good = cinnabar::base::read_file(fs::path(CINNABAR_TESTS_DIR) / "data/pictures/transparent.png");
  fs::create_directories(program.folder() / "few");
  for (const char* name : {"a", "b", "c"}) {
    cinnabar::base::write_file(program.folder() / "few" / (std::string(name) + ".png"), good);
  }
  const Ended ended = train(program, {"--dataset_config", "data.toml", "--max_train_epochs", "3"});
  INFO(ended.text);
  REQUIRE(ended.status == 0);
  CHECK(holds(ended,
              "regularisation: 32 pictures, 32 with repeats, for 6 training pictures with repeats; 6 are used an "
              "epoch, so that an epoch has 12 pictures; which ones changes from epoch to epoch, by seed"));
  CHECK(holds(ended, "Steps: 3 batches = 3 an epoch, 3 epochs, 9 steps."));
}
