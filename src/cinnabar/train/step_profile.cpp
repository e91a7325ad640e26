#include "cinnabar/train/step_profile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include <ATen/record_function.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/tensor/host_memory.h"

namespace cinnabar::train {

// What the thread is in the middle of, and what it has done.
struct OperatorCalls {
  struct Open {
    double begin_s = 0.0;
    double inner_s = 0.0;  // of calls inside
  };
  std::vector<Open> open;
  std::unordered_map<std::string, ProfileLine> done;
};

namespace {

constexpr size_t kTold = 12;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<ProfileLine> longest_first(std::vector<ProfileLine> lines) {
  std::ranges::sort(lines, [](const ProfileLine& a, const ProfileLine& b) { return a.seconds > b.seconds; });
  return lines;
}

// The library's callbacks take no argument of ours.
thread_local OperatorCalls* listening = nullptr;

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction&) {
  if (listening != nullptr) listening->open.push_back({now_s()});
  return nullptr;
}

void on_end(const at::RecordFunction& call, at::ObserverContext*) {
  if (listening == nullptr || listening->open.empty()) return;
  const OperatorCalls::Open open = listening->open.back();
  listening->open.pop_back();
  const double seconds = now_s() - open.begin_s;
  if (!listening->open.empty()) listening->open.back().inner_s += seconds;
  ProfileLine& line = listening->done[call.name()];
  line.seconds += seconds - open.inner_s;
  ++line.calls;
}

}  // namespace

struct StepProfile::Listener {
  OperatorCalls calls;
  at::CallbackHandle handle;

  Listener()
      : handle(
            at::addThreadLocalCallback(at::RecordFunctionCallback(on_begin, on_end)
                                           .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {
    listening = &calls;
  }
  ~Listener() {
    at::removeCallback(handle);
    listening = nullptr;
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
};

StepProfile::StepProfile() : listener_(std::make_unique<Listener>()), pages_before_(tensor::pages_taken()) {}
StepProfile::~StepProfile() = default;

void StepProfile::step_done() {
  ++steps_;
  pages_ = tensor::pages_taken() - pages_before_;
}

double StepProfile::pages() const {
  return static_cast<double>(pages_) / static_cast<double>(std::max<int64_t>(1, steps_));
}

void StepProfile::phase(const std::string& name) {
  const double now = now_s();
  if (!current_.empty()) {
    auto found = std::ranges::find(phases_, current_, &ProfileLine::name);
    if (found == phases_.end()) found = phases_.insert(phases_.end(), {current_});
    found->seconds += now - phase_begin_s_;
    ++found->calls;
  }
  current_ = name;
  phase_begin_s_ = now;
}

std::vector<ProfileLine> StepProfile::phases() const { return longest_first(phases_); }

std::vector<ProfileLine> StepProfile::operators() const {
  std::vector<ProfileLine> lines;
  for (const auto& [name, line] : listener_->calls.done) lines.push_back({name, line.seconds, line.calls});
  return longest_first(std::move(lines));
}

std::string StepProfile::json() const {
  const auto steps = static_cast<double>(std::max<int64_t>(1, steps_));
  const auto list = [&](const std::vector<ProfileLine>& lines) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const ProfileLine& line : lines) {
      all.push_back(
          {{"name", line.name}, {"seconds", line.seconds / steps}, {"calls", static_cast<double>(line.calls) / steps}});
    }
    return all;
  };
  const nlohmann::ordered_json profile = {{"cinnabar_profile", 1},
                                          {"steps", steps_},
                                          {"pages_taken", pages()},
                                          {"phases", list(phases())},
                                          {"operators", list(operators())}};
  return profile.dump(1) + "\n";
}

std::vector<std::string> StepProfile::text() const {
  const auto steps = static_cast<double>(std::max<int64_t>(1, steps_));
  std::vector<std::string> told;
  const auto tell = [&](const char* kind, const std::vector<ProfileLine>& lines) {
    double all = 0.0;
    for (const ProfileLine& line : lines) all += line.seconds;
    for (size_t i = 0; i < std::min(kTold, lines.size()); ++i) {
      char numbers[80];
      std::snprintf(numbers, sizeof numbers, "%.4f s a step, %4.1f %%, %.0f calls", lines[i].seconds / steps,
                    100.0 * lines[i].seconds / std::max(all, 1e-9), static_cast<double>(lines[i].calls) / steps);
      told.push_back(std::string("profile, ") + kind + " " + lines[i].name + ": " + numbers);
    }
  };
  tell("phase", phases());
  tell("operator", operators());
  char memory[80];
  std::snprintf(memory, sizeof memory, "profile, memory: %.0f pages taken from the system a step", pages());
  told.emplace_back(memory);
  return told;
}

std::vector<std::string> ProfiledSteps::step_done() {
  ++done_;
  if (wanted_ <= 0) return {};
  if (!profile_) {
    if (done_ == 1) profile_ = std::make_unique<StepProfile>();
    return {};
  }
  profile_->phase("");
  profile_->step_done();
  if (profile_->steps() < wanted_) return {};
  std::vector<std::string> lines = profile_->text();
  if (!folder_.empty()) {
    base::write_file(folder_ / "profile.json", profile_->json());
    lines.push_back("The profile of " + std::to_string(wanted_) + " steps stands in profile.json of the run's record.");
  }
  profile_.reset();
  wanted_ = 0;
  return lines;
}

}  // namespace cinnabar::train
