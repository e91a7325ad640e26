// Events that say where a run comes from (docs/events.md): `input` for what it is made from, `resumed` for the state
// that it continues.
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

// `state`: the folder whose state was loaded. The run record finds the run that saved it, as this one's parent.
void tell_resumed(EventSink& events, const std::filesystem::path& state, int64_t step);

}  // namespace cinnabar::base
