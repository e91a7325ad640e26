#include "e2e/program.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace cinnabar::test {

std::string read_to_end(const base::Descriptor& source) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(source.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

Program::Program() {
  std::string name = (std::filesystem::temp_directory_path() / "cinnabar-e2e-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

Program::~Program() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

base::Process Program::start(const std::vector<std::string>& words, const base::Pipe& output) const {
  std::vector<std::string> environment = base::selected_environment(
      {"PATH", "CINNABAR_FAULT", "CINNABAR_KILL_AT", "CINNABAR_TORCH", "TMPDIR", "CINNABAR_CLIP_BPE", "CINNABAR_SHARE",
       "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"});
  environment.push_back("HOME=" + folder_.string());
  // Long runs use a copy of the programs, which the next build leaves alone.
  const char* copy = std::getenv("CINNABAR_TEST_BIN");
  return base::Process({.program = std::string(copy == nullptr ? CINNABAR_BIN_DIR : copy) + "/cinnabar",
                        .arguments = words,
                        .environment = environment,
                        .folder = folder_,
                        .descriptors = {{output.write.get(), 1}, {output.write.get(), 2}}});
}

Ended Program::run(const std::vector<std::string>& words) const {
  base::Pipe output = base::make_pipe();
  base::Process process = start(words, output);
  output.write.close();
  Ended ended;
  ended.text = read_to_end(output.read);
  ended.status = process.wait().code.value_or(-1);
  return ended;
}

std::vector<std::string> Program::short_training(const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"train",
                                    "--pretrained_model_name_or_path",
                                    "embedded",
                                    "--train_data_dir",
                                    "embedded",
                                    "--resolution",
                                    "64",
                                    "--output_dir",
                                    "out",
                                    "--output_name",
                                    name,
                                    "--network_module",
                                    "networks.lora",
                                    "--network_dim",
                                    "4",
                                    "--network_alpha",
                                    "2",
                                    "--learning_rate",
                                    "1e-3",
                                    "--train_batch_size",
                                    "2",
                                    "--seed",
                                    "5"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace cinnabar::test
