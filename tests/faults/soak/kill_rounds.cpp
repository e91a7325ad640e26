// Runs of the program, killed and resumed, against an unbroken one.
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "cinnabar/base/atomic_file.h"
#include "faults/soak/killed_run.h"
#include "faults/soak/tally.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

// Unbroken runs, by the seed of their options.
class References {
 public:
  struct Reference {
    KillFolder folder;
    Words words;
    double seconds = 0.0;
  };

  const Reference& of(uint64_t draw) { return of(draw, drawn_training(draw)); }
  const Reference& full() { return of(0, full_training()); }

 private:
  const Reference& of(uint64_t draw, const Words& words) {
    auto found = known_.find(draw);
    if (found != known_.end()) return *found->second;
    auto made = std::make_unique<Reference>();
    made->words = words;
    const Ended ended = made->folder.run(words);
    if (ended.status != 0) throw std::runtime_error("an unbroken run fails: " + joined(words) + ended.text);
    made->seconds = ended.seconds;
    return *known_.emplace(draw, std::move(made)).first->second;
  }

  std::map<uint64_t, std::unique_ptr<Reference>> known_;
};

// After the resumed run is done. "" when all is as it should be.
std::string verdict(const References::Reference& reference, const KillFolder& folder, Tally& tally) {
  int64_t lost = 0;
  if (const std::string text = broken_claim(folder.path() / "work", lost); !text.empty()) return text;
  tally.note_largest("steps done again at most", lost);
  if (const std::string text = difference(reference.folder.path(), folder.path()); !text.empty()) return text;
  const std::string left = leftover(folder.path());
  return left.empty() ? "" : left + " is left over";
}

std::string text_of(const Kill& kill) {
  const std::string which = kill.is_both ? "both programs" : "the engine";
  switch (kill.when) {
    case Kill::When::Time:
      return which + " after " + std::to_string(kill.after_s) + " s";
    case Kill::When::Save:
      return which + " in save " + std::to_string(kill.save) + " after " + std::to_string(kill.after_s) + " s";
    case Kill::When::Point:
      return "point " + kill.point;
    default:
      return "no kill";
  }
}

void random_round(uint64_t seed, References& references, Tally& tally) {
  std::mt19937_64 random(seed);
  const auto& reference = references.of(1 + random() % 40);
  const KillFolder folder;
  Kill kill = drawn_kill(random, reference.seconds);
  Ended ended = folder.run(reference.words, kill);
  ++tally.rounds;
  if (ended.was_hit && ended.status != 0) ++tally.numbers[kill.when == Kill::When::Save ? "while saving" : "between"];
  if (!ended.was_hit && ended.status != 0) {
    return tally.fail("seed " + std::to_string(seed) + ": ended by itself: " + ended.text);
  }
  std::string problem;
  if (ended.status != 0) problem = finish(folder, reference.words);
  if (problem.empty()) problem = verdict(reference, folder, tally);
  if (problem.empty()) return;
  tally.fail("seed " + std::to_string(seed) + ", " + text_of(kill) + ", " + joined(reference.words) + ": " + problem);
}

// All names of kill points in the source.
std::vector<std::string> named_points() {
  std::set<std::string> names;
  const std::regex pattern("kill_point\\(\"([a-z_.]+)\"\\)");
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(CINNABAR_SOURCE_DIR) / "src")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = base::read_file(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) names.insert((*it)[1]);
  }
  return {names.begin(), names.end()};
}

// A place that the run reaches: what happens before the run that is to be killed there.
enum class Before { Nothing, Killed, KilledWhileSaving, Done };

// False when the run was not killed there.
bool kill_at(const std::string& point, Before before, const References::Reference& reference, Tally& tally) {
  const KillFolder folder;
  Words words = reference.words;
  if (before == Before::Killed) folder.run(words, {.when = Kill::When::Point, .point = "state.committed:1"});
  if (before == Before::KilledWhileSaving)
    folder.run(words, {.when = Kill::When::Point, .point = "folder.before_rename:2"});
  if (before == Before::Done) folder.run(words);
  if (before == Before::Killed || before == Before::KilledWhileSaving) words.insert(words.end(), {"--resume", "auto"});
  const Kill kill{.when = Kill::When::Point, .point = point};
  if (!folder.run(words, kill).was_hit) return false;
  ++tally.rounds;
  std::string problem = finish(folder, reference.words);
  if (problem.empty()) problem = verdict(reference, folder, tally);
  if (!problem.empty()) tally.fail(point + ": " + problem);
  return true;
}

}  // namespace

Tally test_random_kills(const Settings& settings) {
  Tally tally;
  References references;
  const int64_t rounds = settings.count(3, 200);
  for (int64_t i = 0; i < rounds; ++i) {
    random_round(settings.seed * 1'000'000 + static_cast<uint64_t>(i), references, tally);
    if (i % 20 == 19)
      tell("kills: " + std::to_string(i + 1) + " rounds, " + std::to_string(tally.failures.size()) + " failures");
  }
  return tally;
}

Tally test_named_points(const Settings& settings) {
  Tally tally;
  References references;
  const auto& reference = references.full();
  std::vector<std::string> points = named_points();
  tally.numbers["points"] = static_cast<int64_t>(points.size());
  std::mt19937_64 random(settings.seed);
  if (settings.tier == Tier::T0) points = {points[random() % points.size()], points[random() % points.size()]};
  const int64_t times = settings.count(1, 5);
  for (const std::string& point : points) {
    std::optional<Before> way;
    for (int64_t i = 0; i < times; ++i) {
      const std::string place = point + ":" + std::to_string(1 + (i == 0 ? 0 : random() % 4));
      bool is_hit = way && kill_at(place, *way, reference, tally);
      for (const Before before : {Before::Nothing, Before::Killed, Before::KilledWhileSaving, Before::Done}) {
        if (is_hit) break;
        // Later times than the first may not come.
        is_hit = kill_at(point + ":1", before, reference, tally);
        if (is_hit) way = before;
      }
      if (!is_hit) tally.fail(point + " is never reached");
    }
    tell("points: " + point);
  }
  return tally;
}

Tally test_double_faults(const Settings& settings) {
  Tally tally;
  References references;
  const int64_t rounds = settings.count(1, 20);
  const std::vector<std::string> points{"leftovers.removing:1", "folder.verifying:1", "resume.before:1",
                                        "resume.restored:1", "network.before:1"};
  for (int64_t i = 0; i < rounds; ++i) {
    std::mt19937_64 random(settings.seed * 7919 + static_cast<uint64_t>(i));
    const auto& reference = references.of(1 + random() % 40);
    const KillFolder folder;
    Ended first = folder.run(reference.words, {.when = Kill::When::Point, .point = "folder.before_rename:2"});
    Kill second = drawn_kill(random, reference.seconds * 0.7);
    if (i % 2 == 0) second = {.when = Kill::When::Point, .point = points[static_cast<size_t>(i / 2) % points.size()]};
    std::string problem = finish(folder, reference.words, second);
    if (problem.empty()) problem = verdict(reference, folder, tally);
    ++tally.rounds;
    if (!problem.empty()) tally.fail(text_of(second) + ", " + joined(reference.words) + ": " + problem);
    if (first.status == 0) ++tally.numbers["first kill not reached"];
  }
  return tally;
}

Tally test_signals(const Settings& settings) {
  Tally tally;
  References references;
  const int64_t rounds = settings.count(2, 20);
  for (int64_t i = 0; i < rounds; ++i) {
    std::mt19937_64 random(settings.seed * 104729 + static_cast<uint64_t>(i));
    const auto& reference = references.of(1 + random() % 40);
    const KillFolder folder;
    Kill kill{.when = Kill::When::Time};
    kill.after_s = std::uniform_real_distribution<double>(0.2, 1.0)(random) * reference.seconds;
    kill.signal = random() % 2 == 0 ? SIGINT : SIGTERM;
    kill.repeats = i % 2 == 0 ? 1 : 2;
    const Ended ended = folder.run(reference.words, kill);
    std::string problem;
    if (ended.status != 0 && ended.status != 130)
      problem = "status " + std::to_string(ended.status) + ": " + ended.text;
    if (problem.empty() && ended.status != 0) problem = finish(folder, reference.words);
    // A stopped run has files of the step at which it stopped, so that only the results are compared.
    if (problem.empty()) problem = difference_of_states(reference.folder.path(), folder.path());
    ++tally.rounds;
    if (ended.status == 130) ++tally.numbers[kill.repeats == 1 ? "stopped" : "ended at once"];
    if (!problem.empty()) tally.fail(joined(reference.words) + ": " + problem);
  }
  return tally;
}

Tally test_disk(const Settings& settings) {
  Tally tally;
  References references;
  Words words = full_training();
  words.insert(words.end(), {"--disk_wait_minutes", "0.3"});
  const auto& reference = references.full();
  const int64_t rounds = settings.count(1, 5);
  const auto log_holds = [](const KillFolder& folder, const char* words_) {
    return base::read_file(folder.path() / "log.txt").find(words_) != std::string::npos;
  };
  for (int64_t i = 0; i < rounds; ++i) {
    for (const bool is_limit : {false, true}) {
      const KillFolder folder;
      const fs::path out = folder.path() / "out";
      const fs::path away = folder.path() / "away";
      bool is_gone = false;
      bool is_back = false;
      const Ended ended = folder.run_beside(words, [&](int engine) {
        if (!is_gone && engine != 0 && fs::exists(out / "run-step00000002-state")) {
          const rlimit small{1000, RLIM_INFINITY};
          if (is_limit) ::prlimit(engine, RLIMIT_FSIZE, &small, nullptr);
          if (!is_limit) fs::rename(out, away);
          is_gone = true;
        }
        if (!is_gone || is_back || !log_holds(folder, "cannot be written")) return;
        const rlimit large{RLIM_INFINITY, RLIM_INFINITY};
        if (is_limit) ::prlimit(engine, RLIMIT_FSIZE, &large, nullptr);
        if (!is_limit) fs::rename(away, out);
        is_back = true;
      });
      ++tally.rounds;
      std::string problem;
      if (ended.status != 0) problem = ended.text;
      if (problem.empty() && !is_back) problem = "the fault was not noticed: " + ended.text;
      if (problem.empty()) problem = difference(reference.folder.path(), folder.path());
      if (!problem.empty()) tally.fail(std::string(is_limit ? "limit of file sizes: " : "vanished folder: ") + problem);
    }
  }
  return tally;
}

Tally test_numbers_and_memory(const Settings& settings) {
  struct Case {
    const char* fault;
    const char* message;  // that must be told
    int status;
    bool is_equal;  // the finished run, resumed where need be, is the unbroken one: no step was left out before a save
  };
  const std::vector<Case> cases{
      {"nan@step.loss:3", "The loss of a batch is not finite and it is left out", 0, false},
      {"nan@step.loss:3+", "not finite in 3 steps in succession", 1, false},
      {"nan@step.gradient:4", "The gradient of step 4 is not finite (first in lora_", 0, false},
      {"nan@step.gradient:4+", "not finite in 3 steps in succession", 1, false},
      {"nan@step.weight:5", "the weights of lora_", 1, true},
      {"nan@step.weight:4", "is not written, and stays as it was", 1, true},
      {"memory@step.forward:4", "it is tried once more", 0, true},
      {"memory@step.backward:4", "it is tried once more", 0, true},
      {"memory@step.forward:4+", "memory ran out in step 4", 1, true},
      {"hang@step.forward:7", "has not ended after", 1, true},
  };
  Tally tally;
  References references;
  const auto& reference = references.full();
  Words words = full_training();
  words.insert(words.end(), {"--step_timeout", "3"});
  const size_t count = settings.tier == Tier::T0 ? 3 : cases.size();
  for (size_t i = 0; i < count; ++i) {
    const Case& one = cases[settings.tier == Tier::T0 ? (settings.seed + 3 * i) % cases.size() : i];
    const KillFolder folder;
    const Ended ended = folder.run(words, {.fault = one.fault});
    ++tally.rounds;
    std::string problem;
    if (ended.status != one.status) problem = "status " + std::to_string(ended.status);
    if (ended.text.find(one.message) == std::string::npos)
      problem = "the message lacks \"" + std::string(one.message) + "\"";
    if (!problem.empty()) {
      tally.fail(std::string(one.fault) + ": " + problem + ": " + ended.text);
      continue;
    }
    if (const std::string left = leftover(folder.path()); !left.empty() && one.status == 0) problem = left;
    if (problem.empty() && one.status != 0) problem = finish(folder, reference.words);
    if (problem.empty() && one.is_equal) problem = difference_of_states(reference.folder.path(), folder.path());
    if (!problem.empty()) tally.fail(std::string(one.fault) + ": " + problem);
  }
  return tally;
}

}  // namespace cinnabar::soak
