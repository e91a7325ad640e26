#include "cinnabar/hardware/process_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "cinnabar/base/error.h"

namespace cinnabar::hardware {

namespace {

constexpr uint64_t kUsualStackBytes = uint64_t{8} << 20;

std::optional<uint64_t> soft_limit(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

template <size_t N>
bool holds_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// As ulimit takes and shows it.
std::string kib(uint64_t bytes) { return std::to_string(bytes / 1024); }

std::string megabytes(uint64_t bytes) { return std::to_string(bytes / 1'000'000) + " MB"; }

}  // namespace

ProcessLimits process_limits() {
  return {.address_bytes = soft_limit(RLIMIT_AS),
          .stack_bytes = soft_limit(RLIMIT_STACK),
          .processes = soft_limit(RLIMIT_NPROC)};
}

Shortage shortage_of(std::string_view words) {
  static constexpr std::array<std::string_view, 6> kMemory = {
      "std::bad_alloc", "Cannot allocate memory", "failed to map segment", "cannot allocate memory in static TLS block",
      "MEMORY-ERROR",   "failed to allocate"};
  static constexpr std::array<std::string_view, 2> kThreads = {"Thread creation failed",
                                                               "Resource temporarily unavailable"};
  if (holds_any(words, kMemory)) return Shortage::Memory;
  return holds_any(words, kThreads) ? Shortage::Threads : Shortage::None;
}

std::string shortage_text(Shortage shortage, const ProcessLimits& limits) {
  const std::string addresses = limits.address_bytes
                                    ? "a program may use " + megabytes(*limits.address_bytes) +
                                          " of addresses here (ulimit -v " + kib(*limits.address_bytes) + ")"
                                    : "";
  if (shortage == Shortage::Memory) {
    if (addresses.empty()) return "memory ran out; close other programs, or train with less";
    return "memory ran out: " + addresses + "; raise that limit, for instance ulimit -v unlimited";
  }
  if (shortage == Shortage::None) return {};
  std::string causes;
  if (limits.processes) causes = "a user may have " + std::to_string(*limits.processes) + " threads here (ulimit -u)";
  if (!addresses.empty()) causes += (causes.empty() ? "" : ", and ") + addresses;
  return "no further thread could be started" + (causes.empty() ? "" : ": " + causes) +
         "; raise the limit, end other programs, or give --threads 1 --max_data_loader_n_workers 0";
}

std::string suspicion_text(const ProcessLimits& limits) {
  if (!limits.address_bytes) return {};
  return "The likely cause: " + shortage_text(Shortage::Memory, limits) + ".";
}

void ensure_stack_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeastStackBytes) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kUsualStackBytes);
  if (limit.rlim_cur >= kLeastStackBytes && ::setrlimit(RLIMIT_STACK, &limit) == 0) return;
  throw base::Error(base::ErrorCode::Denied,
                    "stacks are limited to " + kib(before) + " KiB here (ulimit -s), and the engine needs " +
                        kib(kLeastStackBytes) + "; raise the limit: ulimit -s " + kib(kUsualStackBytes));
}

}  // namespace cinnabar::hardware
