#include "faults/soak/tally.h"

#include <algorithm>
#include <iostream>

namespace cinnabar::soak {

void tell(const std::string& text) { std::cerr << text << std::endl; }

void Tally::fail(const std::string& text) {
  failures.push_back(text);
  tell("FAILURE: " + text);
}

void Tally::note_largest(const std::string& name, int64_t value) { numbers[name] = std::max(numbers[name], value); }

}  // namespace cinnabar::soak
