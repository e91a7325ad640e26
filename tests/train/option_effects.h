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
  Trained,    // parts of the model whose layers in the final file differ from their beginning
  Elsewhere,  // cannot be seen in one run: `value` names the test file that checks it, which must name the option
};

struct OptionEffect {
  std::string option;
  Part part = Part::Weights;
  Words value{};  // of the second run: the words after the option's name; none for a flag
  Words with{};   // further options of both runs
  Words other{};  // value in the first run; none: the option is left out there
};

// In the order of the schema's groups. Keys of network_args stand as "network_args.conv_dim": there, `other` holds the
// keys of both runs. Those of optimizer_args and lr_scheduler_args have tests of their own (argument_effects_test.cpp
// in tests/optim and tests/lr).
const std::vector<OptionEffect>& option_effects();

}  // namespace cinnabar::test
