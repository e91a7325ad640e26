// What a run leaves behind: nothing secret, all that repeats it, and caches that the next run takes.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/formats/checkpoint.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

namespace fs = std::filesystem;
namespace base = cinnabar::base;
using Words = std::vector<std::string>;

const Words kTraining{"train",
                      "--pretrained_model_name_or_path",
                      "embedded",
                      "--train_data_dir",
                      "embedded",
                      "--resolution",
                      "64",
                      "--network_train_unet_only",
                      "--output_dir",
                      "out",
                      "--workspace",
                      "work",
                      "--max_train_steps",
                      "1"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Ended run(const Program& program, const Words& words) {
  Ended ended = program.run(words);
  INFO(ended.text);
  CHECK(ended.status == 0);
  return ended;
}

std::string weights_of(const Program& program, const std::string& name) {
  return cinnabar::formats::Checkpoint::open(program.folder() / "out" / (name + ".safetensors"))
      ->metadata()
      .at("sshs_model_hash");
}

// Files that hold the text anywhere.
std::vector<std::string> files_with(const fs::path& folder, const std::string& text) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    if (base::read_file(entry.path()).find(text) != std::string::npos) found.push_back(entry.path().string());
  }
  return found;
}

// The pictures of a data set, as files with these names.
void copy_pictures(const fs::path& folder, const std::vector<std::string>& names) {
  fs::create_directories(folder);
  const fs::path source = fs::path(CINNABAR_TESTS_DIR).parent_path() / "share/embedded/pictures/16_zibo";
  size_t next = 0;
  for (const auto& entry : fs::directory_iterator(source)) {
    if (entry.path().extension() == ".png" && next < names.size()) fs::copy_file(entry, folder / names[next++]);
  }
  REQUIRE(next == names.size());
}

// Of kept latents.
std::map<std::string, fs::file_time_type> times_below(const fs::path& folder) {
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") times[entry.path().string()] = entry.last_write_time();
  }
  return times;
}

}  // namespace

TEST_CASE("secrets_of_a_gui_file_reach_no_file_and_no_message") {
  const Program program;
  const std::string secret = "hf_do_not_show";
  const fs::path file = program.folder() / "run.json";
  base::write_file(file, "{\"LoRA_type\": \"Standard\", \"huggingface_token\": \"" + secret +
                             "\", \"wandb_api_key\": \"" + secret + "\"}");
  const Ended ended = run(program, with(kTraining, {"--config_file", "run.json", "--logging_dir", "logs", "--seed", "1",
                                                    "--save_state", "--enable_bucket=false"}));
  CHECK(ended.text.find("wandb_api_key is not supported yet") != std::string::npos);
  CHECK(ended.text.find(secret) == std::string::npos);
  const Ended shown = run(program, {"import", "run.json"});
  CHECK(shown.text.find(secret) == std::string::npos);
  fs::remove(file);
  for (const std::string& found : files_with(program.folder(), secret))
    CHECK_MESSAGE(false, found, " holds the secret");
}

TEST_CASE("a_run_without_a_seed_is_repeated_by_its_record") {
  const Program program;
  run(program, with(kTraining, {"--output_name", "one"}));
  const Ended shown = run(program, {"runs", "show", "one", "--toml", "--workspace", "work"});
  CHECK(shown.text.find("seed = ") != std::string::npos);
  base::write_file(program.folder() / "again.toml", shown.text);
  run(program, {"train", "again.toml", "--output_name", "two"});
  run(program, with(kTraining, {"--output_name", "three"}));
  CHECK(weights_of(program, "one") == weights_of(program, "two"));
  CHECK(weights_of(program, "one") != weights_of(program, "three"));
}

TEST_CASE("case_15_caches_of_folders_with_odd_names_are_used_again_and_configurations_name_them") {
  const Program program;
  const std::string place = "my [set] {x} 'q' 100% #1 \xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x98\x80 ";
  copy_pictures(program.folder() / place / "3_a [b]", {"a.png", "b [1].png", "c'd.png"});
  Words words = kTraining;
  words[4] = place;
  run(program, with(words, {"--cache_latents_to_disk", "--seed", "1", "--output_name", "one"}));
  const auto before = times_below(program.folder() / place);
  CHECK(before.size() == 1);
  run(program,
      with(words, {"--cache_latents_to_disk", "--seed", "1", "--output_name", "two", "--output_config", "again.toml"}));
  run(program, {"train", "again.toml"});
  CHECK(times_below(program.folder() / place) == before);
  CHECK(weights_of(program, "one") == weights_of(program, "two"));
  // The first run's state of the pictures counts, not their names.
  fs::rename(program.folder() / place / "3_a [b]" / "a.png", program.folder() / place / "3_a [b]" / "z.png");
  run(program, with(words, {"--cache_latents_to_disk", "--output_name", "three"}));
  CHECK(times_below(program.folder() / place).size() == before.size());
}
