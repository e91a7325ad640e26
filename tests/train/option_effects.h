// What each option of `cinnabar train` changes: two short runs that differ in it alone, and the part of the outcome
// that must differ with it. An option without a row fails option_effects_table_test.
#pragma once

#include <string>
#include <vector>

namespace cinnabar::test {

using Words = std::vector<std::string>;

// What of a run is compared.
enum class Part {
  Weights,    // of the final file
  Types,      // number formats of the final file
  Metadata,   // of the final file, without times and hashes
  Files,      // names of what was written, times left out
  Pictures,   // contents of the previews
  Records,    // folders, files and keys of TensorBoard logs
  Messages,   // phases, notes and warnings
  Progress,   // states of the loops before and beside the training
  Losses,     // of each step
  Error,      // the second run must fail, naming the option
  Threads,    // that compute
  Elsewhere,  // cannot be seen in one run: `value` names the test file that checks it, which must name the option
};

struct OptionEffect {
  std::string option;
  Part part = Part::Weights;
  Words value{};  // of the second run: the words after the option's name; none for a flag
  Words with{};   // further options of both runs
  Words other{};  // value in the first run; none: the option is left out there
};

// Sorted by nothing but sense: the groups of the schema. The second table has the keys of optimizer_args and the like
// as "optimizer_args.betas".
const std::vector<OptionEffect>& option_effects();

}  // namespace cinnabar::test
