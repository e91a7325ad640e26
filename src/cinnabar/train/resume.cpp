#include "cinnabar/train/resume.h"

#include <algorithm>
#include <array>
#include <regex>
#include <set>
#include <string_view>

#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/schema/value_text.h"

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
  static constexpr std::array<std::string_view, 5> kBeginnings = {"save_", "sample_", "metadata_", "cache_", "validat"};
  if (kNames.contains(name)) return true;
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

std::string shown(const std::string& text) { return text.empty() ? "not set" : text; }

std::string stem_of(const schema::Values& values) { return values.maybe_text("output_name").value_or("last"); }

std::optional<SavedState> newest_state(const fs::path& output_dir, const std::string& stem, base::EventSink& events) {
  for (const fs::path& folder : states_in(output_dir, stem)) {
    try {
      SavedState state = open_state(folder);
      // "dog" and "dog-000002" look alike; the state knows whose it is.
      const auto name = state.identity.options.find("output_name");
      if (name == state.identity.options.end() || name->second == stem) return state;
    } catch (const base::Error& error) {
      events.warning(folder.string() + " is passed over: " + error.message());
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> states_in(const fs::path& output_dir, const std::string& stem) {
  struct Found {
    int64_t step;
    fs::file_time_type time;
    fs::path path;
  };
  std::vector<Found> found;
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
    found.push_back({step_of_state(it->path()), fs::last_write_time(it->path(), ignored), it->path()});
  }
  std::ranges::sort(found, [](const Found& a, const Found& b) {
    return a.step != b.step ? a.step > b.step : a.time != b.time ? a.time > b.time : a.path < b.path;
  });
  std::vector<fs::path> paths;
  for (Found& one : found) paths.push_back(std::move(one.path));
  return paths;
}

std::optional<SavedState> state_to_resume(const schema::Values& values, base::EventSink& events) {
  const auto wanted = values.maybe_text("resume");
  if (!wanted) return std::nullopt;
  const fs::path output_dir = values.text("output_dir");
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
    throw base::Error(error.code(), "cannot resume from " + *wanted + ": " + error.message() + advice);
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

bool explain_changes(const SavedState& state, const RunIdentity& now, base::EventSink& events) {
  const RunIdentity& before = state.identity;
  for (const OptionChange& change : option_changes(before.options, now.options)) {
    events.warning(change.name + " was " + shown(change.before) + " when the state was saved and is " +
                   shown(change.now) + " now: the run goes on with the new value and differs from an unbroken one");
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
  if (before.data_hash == now.data_hash) return true;
  events.warning("The data set has changed since the state was saved: epoch " + std::to_string(state.position.epoch) +
                 " begins anew");
  return false;
}

}  // namespace cinnabar::train
