#include "cinnabar/train/resume.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <string_view>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/schema/value_text.h"
#include "cinnabar/train/resume_run.h"

namespace cinnabar::train {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStateEnding = "-state";

// Options that do not change what is trained.
bool is_harmless(const std::string& name) {
  static const std::set<std::string> kNames = {
      "resume",           "config_file",   "output_dir",        "output_name",
      "logging_dir",      "log_prefix",    "log_with",          "threads",
      "save_state",       "seed",          "training_comment",  "max_data_loader_n_workers",
      "workspace",        "run_folder",    "max_train_steps",   "max_train_epochs",
      "train_more_steps", "save_model_as", "save_precision",    "no_metadata",
      "vae_batch_size",   "lowram",        "disk_wait_minutes", "initial_step",
      "initial_epoch",    "oom",           "step_timeout",      "stop_after_bad_steps"};
  static constexpr std::array<std::string_view, 6> kBeginnings = {"save_",  "sample_", "metadata_",
                                                                  "cache_", "validat", "profile_"};
  if (kNames.contains(name)) return true;
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

std::string or_not_set(const std::string& text) { return text.empty() ? "not set" : text; }

std::string stem_of(const schema::Values& values) { return values.maybe_text("output_name").value_or("last"); }

// A training that was begun anew under this name and is not as far yet: its states count, and those of the one before
// are mentioned.
void tell_older_trainings(const SavedState& chosen, const std::vector<fs::path>& states, base::EventSink& events) {
  for (const fs::path& folder : states) {
    const StateSummary summary = summary_of_state(folder);
    if (summary.lineage == chosen.identity.lineage || summary.step <= chosen.position.step) continue;
    events.log(folder.string() + " (step " + std::to_string(summary.step) +
               ") is of an earlier training of this name and is not gone on from; --resume " + folder.string() +
               " would do that.");
    return;
  }
}

// A training that begins anew under a name that has states: until it saves one, "auto" would go on from those.
void tell_states_there(const fs::path& output_dir, const std::string& stem, base::EventSink& events) {
  const std::vector<fs::path> states = states_in(output_dir, stem);
  if (states.empty()) return;
  events.log("This training begins anew. " + states.front().string() + " (step " +
             std::to_string(summary_of_state(states.front()).step) +
             ") is of an earlier one of this name; until this one has saved a state, --resume auto goes on from that.");
}

std::optional<SavedState> newest_state(const fs::path& output_dir, const std::string& stem, base::EventSink& events) {
  const std::vector<fs::path> states = states_in(output_dir, stem);
  for (const fs::path& folder : states) {
    try {
      SavedState state = open_state(folder);
      // "dog" and "dog-000002" look alike; the state knows whose it is.
      const auto name = state.identity.options.find("output_name");
      if (name != state.identity.options.end() && name->second != stem) continue;
      tell_older_trainings(state, states, events);
      return state;
    } catch (const base::Error& error) {
      events.warning(folder.string() + " is passed over: " + error.message());
    }
  }
  return std::nullopt;
}

}  // namespace

std::string lineage_of(const std::optional<SavedState>& resumed, const schema::Values& values) {
  const std::string wanted = values.maybe_text("resume").value_or("");
  const bool is_followed = resumed && (wanted == "auto" || wanted == "newest" || is_resume_of_run(wanted));
  if (is_followed && !resumed->identity.lineage.empty()) return resumed->identity.lineage;
  std::random_device source;
  char text[17];
  std::snprintf(text, sizeof text, "%08x%08x", source(), source());
  return text;
}

std::vector<fs::path> states_in(const fs::path& output_dir, const std::string& stem) {
  struct Found {
    StateSummary summary;
    fs::file_time_type time;
    fs::path path;
  };
  std::vector<Found> found;
  std::map<std::string, int64_t> newest;  // lineage -> time of its last save
  std::error_code error;
  for (fs::directory_iterator it(output_dir, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(stem) || !name.ends_with(kStateEnding)) continue;
    // "name-state" and "name-000002-state", but not "name-other-000002-state" of another run.
    const std::string middle = name.substr(stem.size(), name.size() - stem.size() - kStateEnding.size());
    static const std::regex kMiddle("(-[0-9]{6,}|-step[0-9]{8,})?");
    if (!std::regex_match(middle, kMiddle)) continue;
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    found.push_back({summary_of_state(it->path()), fs::last_write_time(it->path(), ignored), it->path()});
    const StateSummary& summary = found.back().summary;
    newest[summary.lineage] = std::max(newest[summary.lineage], summary.saved_ms);
  }
  std::ranges::sort(found, [&](const Found& a, const Found& b) {
    const StateSummary& one = a.summary;
    const StateSummary& other = b.summary;
    if (one.lineage != other.lineage && newest[one.lineage] != newest[other.lineage])
      return newest[one.lineage] > newest[other.lineage];
    return one.step != other.step ? one.step > other.step : a.time != b.time ? a.time > b.time : a.path < b.path;
  });
  std::vector<fs::path> paths;
  for (Found& one : found) paths.push_back(std::move(one.path));
  return paths;
}

std::optional<SavedState> state_to_resume(const schema::Values& values, base::EventSink& events) {
  const auto wanted = values.maybe_text("resume");
  const fs::path output_dir = values.text("output_dir");
  if (!wanted) {
    tell_states_there(output_dir, stem_of(values), events);
    return std::nullopt;
  }
  if (is_resume_of_run(*wanted)) return state_of_run(*wanted, output_dir, stem_of(values), events);
  if (*wanted == "auto" || *wanted == "newest") {
    auto state = newest_state(output_dir, stem_of(values), events);
    if (!state && *wanted == "newest") {
      throw base::Error(base::ErrorCode::Config,
                        "there is no complete state of \"" + stem_of(values) + "\" in " + output_dir.string() +
                            " to go on from: the run saved none (save_state), or it was removed. What it made is left "
                            "alone; to train anew, start it by cinnabar train");
    }
    if (!state) {
      events.log("resume auto: no complete state of \"" + stem_of(values) + "\" in " + output_dir.string() +
                 "; the run starts from the beginning.");
    }
    return state;
  }
  try {
    return open_state(*wanted);
  } catch (const base::Error& error) {
    std::string advice;
    const fs::path folder = fs::path(*wanted).lexically_normal();
    for (const fs::path& other : states_in(folder.parent_path(), stem_of(values))) {
      try {
        if (other == folder) continue;
        open_state(other);
        advice = "; the newest complete state beside it is " + other.string();
        break;
      } catch (const base::Error&) {
        continue;
      }
    }
    std::error_code missing;
    const bool is_there = fs::exists(*wanted, missing);
    throw base::Error(is_there ? error.code() : base::ErrorCode::Config,
                      "cannot resume from " + *wanted + ": " + error.message() + advice);
  }
}

std::map<std::string, std::string> option_texts(const schema::Values& values) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : values.all()) {
    if (values.has(name)) texts[name] = schema::value_text(value);
  }
  return texts;
}

std::vector<OptionChange> option_changes(const std::map<std::string, std::string>& before,
                                         const std::map<std::string, std::string>& now) {
  std::set<std::string> names;
  for (const auto& [name, text] : before) names.insert(name);
  for (const auto& [name, text] : now) names.insert(name);
  std::vector<OptionChange> changes;
  for (const std::string& name : names) {
    if (is_harmless(name)) continue;
    const auto old = before.find(name);
    const auto present = now.find(name);
    OptionChange change{.name = name,
                        .before = old == before.end() ? "" : old->second,
                        .now = present == now.end() ? "" : present->second};
    if (change.before != change.now) changes.push_back(std::move(change));
  }
  return changes;
}

void check_steps_left(const SavedState& state, int64_t max_train_steps, const schema::Values& values) {
  if (state.position.step <= max_train_steps) return;
  std::string others;
  for (const fs::path& folder : states_in(values.text("output_dir"), stem_of(values))) {
    const int64_t step = summary_of_state(folder).step;
    if (step < 0 || step > max_train_steps) continue;
    others += (others.empty() ? "" : ", ") + folder.string() + " (step " + std::to_string(step) + ")";
  }
  throw base::Error(base::ErrorCode::Config,
                    "the state " + state.folder.string() + " is at step " + std::to_string(state.position.step) +
                        ", and the run would end at step " + std::to_string(max_train_steps) +
                        ": nothing is trained, and nothing written. Raise max_train_steps, or give train_more_steps" +
                        (others.empty() ? std::string() : ", or name an earlier state with --resume: " + others));
}

std::string changes_text(const SavedState& state, const RunIdentity& now) {
  std::string text;
  for (const OptionChange& change : option_changes(state.identity.options, now.options)) {
    text += (text.empty() ? "" : ", ") + change.name + " went from " + or_not_set(change.before) + " to " +
            or_not_set(change.now);
  }
  if (text.empty()) return {};
  return ". Since the state was saved, " + text +
         ": what decides the shape of the network or of the optimizer's state cannot change on the way. Give the old "
         "values, or train anew without --resume";
}

bool explain_changes(const SavedState& state, const RunIdentity& now, base::EventSink& events) {
  const RunIdentity& before = state.identity;
  for (const OptionChange& change : option_changes(before.options, now.options)) {
    if (change.name == "network_weights") {
      if (!change.now.empty())
        events.warning("network_weights = " + change.now +
                       " has no effect with resume: all weights are those of the state");
      continue;
    }
    events.warning(change.name + " was " + or_not_set(change.before) + " when the state was saved and is " +
                   or_not_set(change.now) +
                   " now: the run goes on with the new value and differs from an unbroken one");
  }
  if (before.seed != now.seed) {
    events.warning("seed was " + std::to_string(before.seed) + " and is " + std::to_string(now.seed) +
                   " now: noise, order and augmentation are others from here on");
  }
  if (before.model_hash != now.model_hash && !before.model_hash.empty() && !now.model_hash.empty()) {
    events.warning("The base model is not the one that the state was trained on: the weights may fit it badly");
  }
  if (before.max_train_steps != now.max_train_steps) {
    events.log("The run was planned for " + std::to_string(before.max_train_steps) + " steps and now for " +
               std::to_string(now.max_train_steps) +
               "; schedules that end with the run (cosine, linear, ...) follow the new length from here on.");
  }
  if (before.data_hash == now.data_hash) {
    if (!before.picture_times.empty() && before.picture_times != now.picture_times) {
      events.warning(
          "Pictures have been written anew since the state was saved, with the same names and sizes in bytes: if they "
          "show something else, the run differs from an unbroken one");
    }
    return true;
  }
  const bool has_same_pictures = !before.pictures_hash.empty() && before.pictures_hash == now.pictures_hash;
  events.warning(std::string(has_same_pictures
                                 ? "The pictures are those of the state, but they fall into other batches now "
                                   "(train_batch_size, resolution or buckets)"
                                 : "The data set has changed since the state was saved") +
                 ": epoch " + std::to_string(state.position.epoch) + " begins anew");
  return false;
}

}  // namespace cinnabar::train
