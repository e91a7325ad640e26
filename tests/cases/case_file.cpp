#include "cases/case_file.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace cinnabar::test {

namespace {

// Puts one "key: text" into the case.
void take(Case& item, const std::string& key, const std::string& text) {
  if (key == "name") {
    item.name = text;
  } else if (key == "file") {
    item.files.emplace_back(text, "");
  } else if (key == "folder") {
    item.folders.push_back(text);
  } else if (key == "link") {
    const size_t arrow = text.find(" -> ");
    if (arrow == std::string::npos) throw std::runtime_error(item.where + ": expected link: NAME -> TARGET");
    item.links.emplace_back(text.substr(0, arrow), text.substr(arrow + 4));
  } else if (key == "run") {
    item.words = split_words(text);
  } else if (key == "shell") {
    item.words = {"-c", text};
    item.is_shell = true;
  } else if (key == "status") {
    item.status = std::stoi(text);
  } else if (key == "output") {
    item.output.push_back(text);
  } else if (key == "error") {
    item.error.push_back(text);
  } else if (key == "no output") {
    item.no_output.push_back(text);
  } else if (key == "no error") {
    item.no_error.push_back(text);
  } else {
    throw std::runtime_error(item.where + ": unknown key \"" + key + "\"");
  }
}

}  // namespace

std::vector<Case> read_cases(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<Case> cases(1);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    Case& item = cases.back();
    if (line == "---") {
      cases.emplace_back();
    } else if (line.starts_with("|")) {
      if (item.files.empty()) throw std::runtime_error(file.string() + ": a text without file");
      item.files.back().second += line.substr(std::min<size_t>(2, line.size())) + "\n";
    } else if (!line.empty() && line.front() != '#') {
      item.where = file.filename().string() + ":" + std::to_string(number);
      const size_t colon = line.find(':');
      if (colon == std::string::npos) throw std::runtime_error(item.where + ": expected KEY: TEXT");
      take(item, line.substr(0, colon), line.substr(std::min(colon + 2, line.size())));
    }
  }
  return cases;
}

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool is_open = false;
  bool is_quoted = false;
  for (const char c : line + " ") {
    if (c == '"') {
      is_quoted = !is_quoted;
      is_open = true;
    } else if (c == ' ' && !is_quoted) {
      if (is_open) words.push_back(word);
      word.clear();
      is_open = false;
    } else {
      word += c;
      is_open = true;
    }
  }
  return words;
}

}  // namespace cinnabar::test
