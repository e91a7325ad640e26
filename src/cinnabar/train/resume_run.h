// The state from which one run of several with a name goes on, as `runs resume RUN` asks for it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/schema/values.h"
#include "cinnabar/train/run_state.h"

namespace cinnabar::train {

// Before what `resume` names in "run:ID,OLDER@STEP,...": a run, and those that it continues, the nearest first. STEP is
// where the one before began; later states of the older run are none of its own.
inline constexpr const char* kResumeRun = "run:";
bool is_resume_of_run(const std::string& resume);

// The newest complete state that the run saved, or one that continues it; without one, that of the runs that it
// continues. A state of another run is said. Throws Error{Config} that names the states which are there.
SavedState state_of_run(const std::string& resume, const std::filesystem::path& output_dir, const std::string& stem,
                        base::EventSink& events);

// RunIdentity::runs of a run with these options: itself, by the folder of its record, and those that it continues.
std::vector<std::string> runs_of(const schema::Values& values, const std::optional<SavedState>& resumed);
// The first of them, or "" without a record.
std::string own_run(const schema::Values& values);

}  // namespace cinnabar::train
