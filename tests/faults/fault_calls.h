// File calls that fail on command: the N-th call of a kind, once or from then on.
#pragma once

#include <atomic>
#include <string>

#include "cinnabar/base/file_calls.h"

namespace cinnabar::faults {

enum class Fault {
  Open,
  Write,       // fails with `error`
  ShortWrite,  // writes half of what was asked for and says so: not an error
  Sync,
  Close,
  Rename,
  MakeFolder,
};

struct FaultPlan {
  Fault fault = Fault::Write;
  int error = 0;           // errno
  int64_t at = 0;          // the call that fails, from 0
  bool is_sticky = false;  // and all after it
};

class FaultCalls : public base::FileCalls {
 public:
  explicit FaultCalls(const FaultPlan& plan) : plan_(plan) {}

  // Calls of the plan's kind so far; more than plan.at of them means that the fault has happened.
  int64_t calls() const { return calls_; }
  bool has_failed() const { return calls_ > plan_.at; }

  int open(const std::filesystem::path& path, int flags, mode_t mode) override;
  ssize_t write(int fd, const void* data, size_t size) override;
  int sync(int fd) override;
  int close(int fd) override;
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  int exchange(const std::filesystem::path& one, const std::filesystem::path& other) override;
  int make_folder(const std::filesystem::path& path, mode_t mode) override;

 private:
  bool fails(Fault fault);

  FaultPlan plan_;
  std::atomic<int64_t> calls_{0};
};

}  // namespace cinnabar::faults
