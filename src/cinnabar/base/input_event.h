// The event that says what a run was made from (docs/events.md, `input`).
#pragma once

#include <filesystem>
#include <string>

#include "cinnabar/base/events.h"

namespace cinnabar::base {

struct InputFact {
  std::string kind;  // "model", "vae", "data_set", "regularisation", "network"
  std::filesystem::path path;
  std::string sha256;  // 64 hex digits
  std::string text{};  // what was hashed, when it is not the bytes of the file
};

void tell_input(EventSink& events, const InputFact& input);

}  // namespace cinnabar::base
