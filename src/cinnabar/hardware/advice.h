// Settings that fit a card: batch, accumulation, precision, size of model, and what of each family fits. The numbers
// are tables, with their origin, in advice_tables.cpp; docs/doctor.md shows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cinnabar/hardware/machine.h"

namespace cinnabar::hardware {

// For the GPU that trains (or would, were it accessible); for the processor when there is none.
Recommendation recommend(const Machine& machine);
Recommendation recommend_for(const Gpu& gpu);

// The GPU that recommend() speaks of.
const Gpu* advised_gpu(const Machine& machine);
// Memory for training: of the card, or of the system for an integrated GPU; a display costs 1 GiB. 0: unknown.
int64_t memory_budget(const Gpu& gpu);

// An option that the advice sets when the user did not (--auto).
struct AdvisedOption {
  std::string name;   // of the schema
  std::string value;  // as on a command line
  std::string reason;
};
// What of the user's own choice the advice depends on.
struct AdviceContext {
  std::optional<std::string> precision{};  // mixed_precision, when it was given
  int64_t side_px = 0;                     // of the largest training pictures; 0: not known
};
std::vector<AdvisedOption> advised_options(const Machine& machine, const AdviceContext& context = {});

// What of a family fits a memory budget, as rough arithmetic for LoRA.
struct FamilyAdvice {
  std::string family;    // "SD 1.5, 512 px"
  std::string settings;  // "batch 2 to 4, fp16"
};
std::vector<FamilyAdvice> family_advice(const Machine& machine);

}  // namespace cinnabar::hardware
