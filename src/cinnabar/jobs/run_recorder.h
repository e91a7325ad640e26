// Keeps the store of runs up to date while a run goes on: a thread of its own that takes in what the run's folder
// holds. Whatever happens to the store, the run does not wait for it and does not end by it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cinnabar/jobs/store_file.h"

namespace cinnabar::jobs {

class RunRecorder {
 public:
  // Starts the thread; signals are left to the others. `interval`: between two looks into the folder.
  RunRecorder(std::filesystem::path workspace, std::filesystem::path folder,
              std::chrono::milliseconds interval = std::chrono::milliseconds(500));
  // finish() without patience.
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  // What went wrong since the last call, in sentences for the user; each is told once.
  std::vector<std::string> take_warnings();
  // After the last event and the final run.json: takes in the rest, for at most `patience`. What is left over is taken
  // in by whoever opens the store next.
  void finish(std::chrono::milliseconds patience);

 private:
  // The open store, and which file it is: another process may put a damaged one aside and begin anew.
  struct Link {
    OpenStore store;
    uint64_t device = 0;
    uint64_t inode = 0;
  };

  void work() noexcept;
  void look();
  void link();
  bool is_same_file() const;
  void give_up(const std::string& why);
  void warn(const std::string& text);

  const std::filesystem::path workspace_;
  const std::filesystem::path folder_;
  const std::chrono::milliseconds interval_;

  // Of the thread alone.
  std::optional<Link> link_;
  std::chrono::steady_clock::time_point retry_at_{};
  bool is_useless_ = false;  // a store that will not be written: no further tries

  std::atomic<bool> is_stopped_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  bool is_ending_ = false;
  bool is_done_ = false;
  std::vector<std::string> warnings_;
  std::vector<std::string> told_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace cinnabar::jobs
