// Lines from a pipe, as they come.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/base/process.h"

namespace cinnabar::jobs {

class LineReader {
 public:
  explicit LineReader(const base::Descriptor& source) : source_(source) {}

  // False once the other end is closed and all lines are taken.
  bool is_open() const { return is_open_; }
  // Waits for bytes, reads once, and returns the lines that are complete; at the end also the unfinished one. Lines
  // longer than 1 MiB are cut there.
  std::vector<std::string> take();

 private:
  const base::Descriptor& source_;
  std::string rest_;
  bool is_open_ = true;
};

}  // namespace cinnabar::jobs
