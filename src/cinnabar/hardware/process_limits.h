// The limits that this process and its children work under (ulimit), and messages that come of them (POSIX).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cinnabar::hardware {

// Unset: no limit.
struct ProcessLimits {
  std::optional<uint64_t> address_bytes{};  // ulimit -v
  std::optional<uint64_t> stack_bytes{};    // ulimit -s
  std::optional<uint64_t> processes{};      // ulimit -u; threads count
};
ProcessLimits process_limits();

enum class Shortage { None, Memory, Threads };

// What the last words of a program mean: those of the C++ library, of GLib, of libgomp and of the loader when memory or
// threads run out.
Shortage shortage_of(std::string_view words);

// "memory ran out: programs may use 600 MB of addresses here (ulimit -v); raise ..." Complete, without a full stop.
std::string shortage_text(Shortage shortage, const ProcessLimits& limits);
// Of a crash that says nothing, under a limit of addresses: that it is the likely cause. "" without one.
std::string suspicion_text(const ProcessLimits& limits);

// The engine and its threads need this much; less ends in a crash.
inline constexpr uint64_t kLeastStackBytes = uint64_t{1} << 20;

// Raises the soft limit of stacks, for children of this process, where it is below kLeastStackBytes. Throws
// Error{Denied} when the hard limit is too low.
void ensure_stack_limit();

}  // namespace cinnabar::hardware
