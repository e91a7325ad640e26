#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cases/case_file.h"
#include "cinnabar/base/process.h"
#include "formats/temporary_folder.h"

namespace cinnabar::test {

namespace {

struct Ended {
  int status = -1;
  std::string output;
  std::string error;
};

std::string read_all(base::Descriptor& source) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(source.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

// Both streams are short enough for a pipe's buffer, but stdout may be long: it is read first.
Ended execute(const Case& item, const std::filesystem::path& folder) {
  base::Pipe output = base::make_pipe();
  base::Pipe error = base::make_pipe();
  std::vector<std::string> environment = base::selected_environment({"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"});
  const std::string bin = CINNABAR_BIN_DIR;
  const char* path = std::getenv("PATH");
  environment.push_back("PATH=" + bin + (path == nullptr ? "" : std::string(":") + path));
  environment.push_back("HOME=" + folder.string());
  base::Process program({.program = item.is_shell ? std::string("/bin/sh") : bin + "/cinnabar",
                         .arguments = item.words,
                         .environment = environment,
                         .folder = folder,
                         .descriptors = {{output.write.get(), 1}, {error.write.get(), 2}}});
  output.write.close();
  error.write.close();
  Ended ended;
  ended.output = read_all(output.read);
  ended.error = read_all(error.read);
  ended.status = program.wait().code.value_or(-1);
  return ended;
}

void run_case(const Case& item) {
  const formats::TemporaryFolder folder;
  for (const auto& [name, text] : item.files) folder.put(name, text);
  for (const std::string& name : item.folders) std::filesystem::create_directories(folder / name);
  for (const auto& [name, target] : item.links) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::filesystem::create_symlink(target, folder / name);
  }
  const Ended ended = execute(item, folder / "");
  INFO(item.where, ": ", item.name, "\nstdout:\n", ended.output.substr(0, 4000), "\nstderr:\n", ended.error);
  CHECK(ended.status == item.status);
  const auto check = [&](const std::vector<std::string>& texts, const std::string& stream, bool is_wanted) {
    for (const std::string& text : texts) {
      INFO("text: ", text);
      CHECK((stream.find(text) != std::string::npos) == is_wanted);
    }
  };
  check(item.output, ended.output, true);
  check(item.error, ended.error, true);
  check(item.no_output, ended.output, false);
  check(item.no_error, ended.error, false);
}

TEST_CASE("every_case_ends_as_it_says") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(CINNABAR_TESTS_DIR) + "/cases")) {
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() >= 4);
  for (const std::filesystem::path& file : files) {
    for (const Case& item : read_cases(file)) {
      REQUIRE_MESSAGE(!item.words.empty(), item.where, ": a case without run");
      run_case(item);
    }
  }
}

TEST_CASE("words_are_parted_by_spaces_outside_quotes") {
  CHECK(split_words("train --prompt \"a cat\" --x=\"\" ") ==
        std::vector<std::string>{"train", "--prompt", "a cat", "--x="});
}

}  // namespace

}  // namespace cinnabar::test
