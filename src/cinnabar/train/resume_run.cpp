#include "cinnabar/train/resume_run.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <sstream>

#include "cinnabar/base/error.h"
#include "cinnabar/base/run_id.h"
#include "cinnabar/train/resume.h"
#include "cinnabar/train/run_data.h"

namespace cinnabar::train {

namespace {

namespace fs = std::filesystem;

constexpr size_t kShown = 5;

struct Wanted {
  std::string run;
  int64_t last_step = std::numeric_limits<int64_t>::max();
};

std::vector<Wanted> wanted_runs(const std::string& resume) {
  std::vector<Wanted> runs;
  std::istringstream words(resume.substr(std::string(kResumeRun).size()));
  for (std::string word; std::getline(words, word, ',');) {
    const size_t at = word.find('@');
    Wanted wanted{.run = word.substr(0, at)};
    const char* end = word.data() + word.size();
    const bool is_number =
        at == std::string::npos || std::from_chars(word.data() + at + 1, end, wanted.last_step).ptr == end;
    if (wanted.run.size() < 4 || !is_number) {
      throw base::Error(base::ErrorCode::Config, "resume = " + resume +
                                                     ": expected run:ID with the id of a run or its first digits, at "
                                                     "least four; cinnabar runs list shows them");
    }
    runs.push_back(std::move(wanted));
  }
  if (runs.empty()) throw base::Error(base::ErrorCode::Config, "resume = " + resume + ": expected run:ID");
  return runs;
}

struct Candidate {
  fs::path folder;
  StateSummary summary;
};

bool is_own(const Candidate& state, const std::string& run) {
  return !state.summary.runs.empty() && state.summary.runs.front().starts_with(run);
}

bool continues(const Candidate& state, const std::string& run) {
  return std::ranges::any_of(state.summary.runs, [&](const std::string& one) { return one.starts_with(run); });
}

// Those that fit, the best first.
std::vector<Candidate> candidates(const std::vector<Wanted>& wanted, const std::vector<Candidate>& all) {
  const std::string& run = wanted.front().run;
  // Runs that continued it by themselves share its lineage; one that branched off an older state does not.
  std::set<std::string> lineages;
  for (const Candidate& state : all) {
    if (is_own(state, run)) lineages.insert(state.summary.lineage);
  }
  std::vector<Candidate> found;
  for (const bool is_branch : {false, true}) {
    for (const Candidate& state : all) {
      if (!continues(state, run)) continue;
      const bool is_near = is_own(state, run) || lineages.empty() || lineages.contains(state.summary.lineage);
      if (is_near != is_branch) found.push_back(state);
    }
  }
  for (auto older = wanted.begin() + 1; older != wanted.end(); ++older) {
    for (const Candidate& state : all) {
      if (is_own(state, older->run) && state.summary.step <= older->last_step) found.push_back(state);
    }
  }
  return found;
}

std::string list_of(const std::vector<Candidate>& all) {
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i) {
    text += (i == 0 ? " " : ", ") + all[i].folder.string() + " (step " + std::to_string(all[i].summary.step) +
            (all[i].summary.runs.empty() ? ", of no recorded run)" : ", of run " + all[i].summary.runs.front() + ")");
  }
  if (all.size() > kShown) text += " and " + std::to_string(all.size() - kShown) + " more";
  return text;
}

}  // namespace

bool is_resume_of_run(const std::string& resume) { return resume.starts_with(kResumeRun); }

SavedState state_of_run(const std::string& resume, const fs::path& output_dir, const std::string& stem,
                        base::EventSink& events) {
  const std::vector<Wanted> wanted = wanted_runs(resume);
  std::vector<Candidate> all;
  for (const fs::path& folder : states_in(output_dir, stem)) all.push_back({folder, summary_of_state(folder)});
  for (const Candidate& state : candidates(wanted, all)) {
    try {
      SavedState opened = open_state(state.folder);
      if (!is_own(state, wanted.front().run)) {
        events.log(state.folder.string() + " was saved by run " + state.summary.runs.front() +
                   (continues(state, wanted.front().run) ? ", which continues run " : ", which is continued by run ") +
                   wanted.front().run + ".");
      }
      return opened;
    } catch (const base::Error& error) {
      events.warning(state.folder.string() + " is passed over: " + error.message());
    }
  }
  throw base::Error(base::ErrorCode::Config,
                    "there is no complete state of \"" + stem + "\" in " + output_dir.string() +
                        " to go on from that run " + wanted.front().run +
                        " saved: it saved none (save_state), or it was removed or replaced." +
                        (all.empty() ? std::string() : " There are" + list_of(all) + "; --resume FOLDER takes one.") +
                        " What the run made is left alone; to train anew, start it by cinnabar train");
}

std::string own_run(const schema::Values& values) {
  const auto folder = values.maybe_text(kRunFolder);
  return folder ? base::run_id(fs::path(*folder).filename().string()) : std::string();
}

std::vector<std::string> runs_of(const schema::Values& values, const std::optional<SavedState>& resumed) {
  std::vector<std::string> runs;
  if (const std::string own = own_run(values); !own.empty()) runs.push_back(own);
  if (!resumed) return runs;
  for (const std::string& run : resumed->identity.runs) {
    if (std::ranges::find(runs, run) == runs.end()) runs.push_back(run);
  }
  return runs;
}

}  // namespace cinnabar::train
