// Everything that is wrong with a configuration, gathered and reported at once.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/base/error.h"

namespace cinnabar::schema {

struct Problem {
  std::string where;    // "command line", "train.toml:12", "preset.json"; empty: the configuration as a whole
  std::string option;   // may be empty
  std::string found;    // the value as given; may be empty
  std::string message;  // what is expected and what to do
};

// Of what a user gave, in a message.
inline constexpr size_t kShownBytes = 300;

// "train.toml:12: network_dim = abc: expected a whole number"
std::string to_string(const Problem& problem);

// What raise() shows at most; the rest is counted.
inline constexpr size_t kMostProblems = 40;

class Problems {
 public:
  void add(Problem problem) { list_.push_back(std::move(problem)); }
  bool empty() const { return list_.empty(); }
  // Enough to fill a message: further ones need no costly search for what was meant.
  bool is_full() const { return list_.size() >= kMostProblems; }
  const std::vector<Problem>& list() const { return list_; }
  // Throws one Error{Config} with a line a problem; does nothing when there is none.
  void raise() const;

 private:
  std::vector<Problem> list_;
};

}  // namespace cinnabar::schema
