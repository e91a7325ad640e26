// The words of a warning: what is wrong, and exactly what to do.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/hardware/machine.h"

namespace cinnabar::hardware {

struct ProblemText {
  std::string cause;
  std::string remedy;            // empty: nothing need be done
  std::vector<int> catalogue{};  // rows of failures.h that it would end in
};

ProblemText problem_text(const Machine& machine, const Warning& warning);
// Every code that a warning may have.
std::vector<std::string> problem_codes();

}  // namespace cinnabar::hardware
