// Where the time of a step goes: by phase (loading, forward, backward, ...) and by operator of the library. And how
// much memory it takes from the system, which is none once the first steps are done.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::train {

// Times of one name, over all steps that were measured.
struct ProfileLine {
  std::string name;
  double seconds = 0.0;
  int64_t calls = 0;
};

// Listens to the operators that the thread which made it calls, backward included (on the CPU it runs in the same
// thread). Operators cost about a microsecond more each while it listens; on a GPU the times are those of starting
// them.
class StepProfile {
 public:
  StepProfile();
  ~StepProfile();
  StepProfile(const StepProfile&) = delete;
  StepProfile& operator=(const StepProfile&) = delete;

  // Ends the phase before and begins this one; "" begins none.
  void phase(const std::string& name);
  void step_done();
  int64_t steps() const { return steps_; }
  // Pages a step took from the system, on average.
  double pages() const;

  // Longest first. Of an operator its own time, without that of the operators which it calls.
  std::vector<ProfileLine> phases() const;
  std::vector<ProfileLine> operators() const;
  // JSON: steps, pages taken a step, phases and operators in seconds a step.
  std::string json() const;
  // The longest of both, a line each, for people.
  std::vector<std::string> text() const;

 private:
  struct Listener;
  std::unique_ptr<Listener> listener_;
  std::vector<ProfileLine> phases_;
  std::string current_;
  double phase_begin_s_ = 0.0;
  int64_t steps_ = 0;
  int64_t pages_before_ = 0;
  int64_t pages_ = 0;
};

// What of a run is measured: the steps after the first, which takes memory from the system and prepares kernels.
class ProfiledSteps {
 public:
  ProfiledSteps() = default;
  // `steps` of profile_steps; 0 measures nothing. The profile is written into `folder` (empty: only told).
  ProfiledSteps(int64_t steps, std::filesystem::path folder) : wanted_(steps), folder_(std::move(folder)) {}

  void phase(const char* name) {
    if (profile_) profile_->phase(name);
  }
  // Lines for the user when the last of the wanted steps is done, else none.
  std::vector<std::string> step_done();

 private:
  int64_t wanted_ = 0;
  std::filesystem::path folder_;
  int64_t done_ = 0;
  std::unique_ptr<StepProfile> profile_;
};

}  // namespace cinnabar::train
