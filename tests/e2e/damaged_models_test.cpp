#include <doctest/doctest.h>

#include <fstream>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/sha256.h"
#include "e2e/program.h"

using cinnabar::test::Ended;
using cinnabar::test::Program;

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

bool holds(const Ended& ended, const std::string& part) { return ended.text.find(part) != std::string::npos; }

// The last four bytes of the file, which belong to its last tensor, become NaN in every floating type.
void poison(const fs::path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-4, std::ios::end);
  file.write("\xC0\x7F\xC0\x7F", 4);
}

// Changes a file of a state as something would that also writes the manifest.
template <class Change>
void change_state_file(const fs::path& file, const Change& change) {
  namespace base = cinnabar::base;
  const std::string before = base::sha256_hex_of_file(file);
  const auto size = fs::file_size(file);
  change(file);
  REQUIRE(fs::file_size(file) == size);
  const fs::path manifest = file.parent_path() / "manifest.json";
  std::string text = base::read_file(manifest, size_t{1} << 20);
  const size_t at = text.find(before);
  REQUIRE(at != std::string::npos);
  base::write_file(manifest, text.replace(at, before.size(), base::sha256_hex_of_file(file)));
}

void replace_text(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = cinnabar::base::read_file(file, size_t{1} << 20);
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  cinnabar::base::write_file(file, text.replace(at, from.size(), to));
}

Words training(const Words& more) {
  Words words{"--max_train_steps", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return Program::short_training("run", words);
}

}  // namespace

TEST_CASE("adapter_files_with_nan_are_refused_by_name_unless_allowed") {
  const Program program;
  REQUIRE(program.run(training({})).status == 0);
  fs::copy_file(program.folder() / "out/run.safetensors", program.folder() / "bad.safetensors");
  poison(program.folder() / "bad.safetensors");
  const std::vector<Words> uses{{"--network_weights", "bad.safetensors"},
                                {"--network_weights", "bad.safetensors", "--dim_from_weights"},
                                {"--base_weights", "bad.safetensors"}};
  for (const Words& use : uses) {
    const Ended refused = program.run(training(use));
    INFO(refused.text);
    CHECK(refused.status == 1);
    CHECK(holds(refused, "bad.safetensors: 1 tensor holds NaN or infinite values (lora_"));
    CHECK(holds(refused, "--allow_nonfinite"));
  }
  Words sample{"sample",
               "--pretrained_model_name_or_path",
               "embedded",
               "--prompt",
               "a cat",
               "--lora",
               "bad.safetensors",
               "--output_dir",
               "pictures",
               "--sample_steps",
               "1"};
  const Ended refused = program.run(sample);
  INFO(refused.text);
  CHECK(refused.status == 1);
  CHECK(holds(refused, "1 tensor holds NaN or infinite values"));
}

TEST_CASE("a_base_model_with_nan_is_refused_and_with_allow_nonfinite_used_under_a_warning") {
  const Program program;
  REQUIRE(program.run({"init_model", "--family", "sd1", "--output", "base.safetensors"}).status == 0);
  poison(program.folder() / "base.safetensors");
  const Words model{"--pretrained_model_name_or_path", "base.safetensors"};
  const Ended refused = program.run(training(model));
  INFO(refused.text);
  CHECK(refused.status == 1);
  CHECK(holds(refused, "base.safetensors: 1 tensor holds NaN or infinite values ("));
  Words allowed = model;
  allowed.emplace_back("--allow_nonfinite");
  const Ended warned = program.run(training(allowed));
  INFO(warned.text);
  CHECK(holds(warned, "it is used because of allow_nonfinite"));
}

TEST_CASE("a_state_of_sd_scripts_with_nan_is_refused_by_name") {
  const Program program;
  REQUIRE(program.run(training({})).status == 0);
  fs::create_directories(program.folder() / "foreign");
  fs::rename(program.folder() / "out/run.safetensors", program.folder() / "foreign/model.safetensors");
  const Words resumed{"--resume", "foreign"};
  CHECK(program.run(training(resumed)).status == 0);
  poison(program.folder() / "foreign/model.safetensors");
  const Ended refused = program.run(training(resumed));
  INFO(refused.text);
  CHECK(refused.status == 1);
  CHECK(holds(refused, "foreign/model.safetensors: 1 tensor holds NaN or infinite values (lora_"));
}

TEST_CASE("damaged_states_are_refused_with_file_and_field") {
  const Program program;
  REQUIRE(program.run(training({"--save_state"})).status == 0);
  const fs::path state = program.folder() / "out/run-state";
  const auto refused = [&](const std::string& message) {
    const Ended ended = program.run(training({"--resume", "out/run-state", "--max_train_steps", "2"}));
    INFO(ended.text);
    CHECK(ended.status == 1);
    CHECK(holds(ended, message));
    CHECK_FALSE(holds(ended, "json.exception"));
  };
  const auto change = [&](const std::string& from, const std::string& to, const std::string& message) {
    change_state_file(state / "state.json", [&](const fs::path& file) { replace_text(file, from, to); });
    refused(message);
    change_state_file(state / "state.json", [&](const fs::path& file) { replace_text(file, to, from); });
  };
  change("\"loss_window\"", "\"loss_windou\"", "state.json: the field loss_window is missing");
  change("\"validation\": []", "\"validation\": 55", "state.json: validation = 55, expected a list");
  change("\"micro_step\": ", "\"micro_step\":-", "state.json: position.micro_step = -");
  change_state_file(state / "parameters.safetensors", poison);
  refused("parameters.safetensors: lora_");
}
