// Model files that were found to hold numbers only, so that a later start need not read them through again.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace cinnabar::train {

class FiniteModels {
 public:
  // `file` remembers; empty remembers nothing. What cannot be read in it is passed over.
  explicit FiniteModels(std::filesystem::path file);

  // By the SHA-256 of the content: a changed file is another one.
  bool has(const std::string& hash) const { return known_.contains(hash); }
  // Written at once. A file that cannot be written is a warning in the log: it only saves time.
  void add(const std::string& hash);

 private:
  std::filesystem::path file_;
  std::set<std::string> known_;
};

}  // namespace cinnabar::train
