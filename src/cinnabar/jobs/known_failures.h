// What the catalogue of known failures says about the lines that an engine printed: drivers and their libraries write
// their last words there before they end the process.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace cinnabar::jobs {

class KnownFailures {
 public:
  // A line of output. Gives a note when it is a known message without weight that comes for the first time, else "".
  std::string take(const std::string& line);
  // For an engine that ended badly: cause and remedy, or "" when nothing is known.
  std::string explanation() const;
  // The same for memory or threads that ran out, with the limit that is set; "" when nothing speaks for it.
  std::string shortage() const;

 private:
  std::string text() const;

  std::vector<std::string> lines_{};  // the last ones
  std::set<int> noted_{};             // rows of the catalogue
};

}  // namespace cinnabar::jobs
