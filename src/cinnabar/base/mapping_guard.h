// Turns the fault of a mapped file that another process shortens (SIGBUS) into an error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace cinnabar::base {

// While the guard lives, reading a page of `mapped` that no longer exists in the file gives zeros instead of ending the
// process, and is remembered. Whoever has used the bytes calls check() before trusting the result. The signal handler
// is process-wide, installed by the first guard; faults at other addresses go on to the handler that was there before.
// At most 256 guards at once: a further one throws Error{Io}. Thread-safe.
class MappingGuard {
 public:
  MappingGuard(std::span<const std::byte> mapped, std::filesystem::path path);
  ~MappingGuard();
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;

  bool was_cut() const;
  // Throws Error{Io} that names the file when it was shortened while in use.
  void check() const;

 private:
  int slot_ = -1;
  std::filesystem::path path_;
};

}  // namespace cinnabar::base
