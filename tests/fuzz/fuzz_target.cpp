#include "fuzz/fuzz_target.h"

#include "cinnabar/base/error.h"

namespace cinnabar::fuzz {

std::vector<Target>& targets() {
  static std::vector<Target> list;
  return list;
}

bool add_target(const char* name, size_t max_bytes, void (*run)(Input)) {
  targets().push_back({name, max_bytes, run});
  return true;
}

const Target& target(std::string_view name) {
  std::string known;
  for (const Target& one : targets()) {
    if (one.name == name) return one;
    known += " " + one.name;
  }
  throw std::invalid_argument("no fuzz target \"" + std::string(name) + "\"; known are:" + known);
}

void require(bool holds, const char* promise) {
  if (!holds) throw BrokenPromise(std::string("broken promise: ") + promise);
}

void run_input(const Target& target, Input input) {
  try {
    target.run(input);
  } catch (const base::Error& error) {
    require(error.code() != base::ErrorCode::Internal, "no input ends in an internal error");
    require(!error.message().empty(), "a refusal has a message");
    // Names from files are shortened before they are shown.
    require(error.message().size() <= 65536, "a refusal is short enough to be read");
  }
}

std::string_view text_of(Input input) { return {reinterpret_cast<const char*>(input.data()), input.size()}; }

}  // namespace cinnabar::fuzz
