// The text files of tests/cases: see README.md there.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::test {

struct Case {
  std::string where;  // file:line
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;  // name, text
  std::vector<std::string> folders;
  std::vector<std::pair<std::string, std::string>> links;  // name, target
  std::vector<std::string> words;
  bool is_shell = false;  // the words are those of /bin/sh
  int status = 0;
  std::vector<std::string> output;
  std::vector<std::string> error;
  std::vector<std::string> no_output;
  std::vector<std::string> no_error;
};

// Throws std::runtime_error that names the line for anything that is not in README.md.
std::vector<Case> read_cases(const std::filesystem::path& file);
// Words parted by spaces; double quotes keep spaces.
std::vector<std::string> split_words(const std::string& line);

}  // namespace cinnabar::test
