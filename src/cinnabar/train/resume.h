// Which saved state a run goes on from, and what is different since then.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/schema/values.h"
#include "cinnabar/train/run_state.h"

namespace cinnabar::train {

// The state that `resume` names: a folder, or "auto" for the newest complete one of this output_dir and output_name.
// "newest" is auto that fails when there is none (Error{Config}). Nothing without the option, and with auto when there
// is none yet (said). Folders that are not complete are named and passed over with auto. Throws Error{Io} or
// Error{Format} for a folder that cannot be used, with the newest usable one beside it.
std::optional<SavedState> state_to_resume(const schema::Values& values, base::EventSink& events);

// What the states of this run carry as RunIdentity::lineage: that of the state which "auto" has found, else a new one,
// so that a training that was begun anew, or from an older state by name, is told apart from the one before.
std::string lineage_of(const std::optional<SavedState>& resumed, const schema::Values& values);

// Complete or not, newest first: folders in `output_dir` whose name begins with `stem` and ends in "-state". Of one
// training, by their steps; where several of this name were begun, those of the last one come first.
std::vector<std::filesystem::path> states_in(const std::filesystem::path& output_dir, const std::string& stem);

struct OptionChange {
  std::string name;
  std::string before;  // "" when unset
  std::string now;
};
// Options that act on the training and are not what they were. Names of files to be made, of logs, of previews, of
// save points and of speed are left out.
std::vector<OptionChange> option_changes(const std::map<std::string, std::string>& before,
                                         const std::map<std::string, std::string>& now);

// What RunIdentity::options keeps of the options of a run.
std::map<std::string, std::string> option_texts(const schema::Values& values);

// When the state is beyond the end of the run: throws Error{Config} that names the states which are not.
void check_steps_left(const SavedState& state, int64_t max_train_steps, const schema::Values& values);

// For a state that does not fit: "; since it was saved, network_dim went from 8 to 16: ..." or "".
std::string changes_text(const SavedState& state, const RunIdentity& now);

// Tells what has changed since the state was saved and what that means. Returns whether the data are the same, so that
// the position in the epoch holds; otherwise the epoch begins anew.
bool explain_changes(const SavedState& state, const RunIdentity& now, base::EventSink& events);

}  // namespace cinnabar::train
