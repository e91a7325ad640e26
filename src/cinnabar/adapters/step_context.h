// What the adapters must know of the running step: their dropouts are functions of it, so that a recomputed forward
// (gradient checkpointing) and a resumed run draw the same masks.
#pragma once

#include <cstdint>
#include <vector>

namespace cinnabar::adapters {

struct StepContext {
  bool is_training = false;  // dropouts act only then
  uint64_t seed = 0;
  uint64_t step = 0;  // any number that differs between steps, for instance the micro-step since the start of the run
  std::vector<uint64_t> samples{};  // one key per sample of the batch, in batch order
};

}  // namespace cinnabar::adapters
