#include "cinnabar/base/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "cinnabar/base/error.h"

namespace cinnabar::base {

namespace {

// One watched range. begin 0: free. Written under `slots_mutex`, read by the handler: `begin` is set last, cleared
// first.
struct Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> was_cut{false};
};

std::array<Slot, 256> slots;
std::mutex slots_mutex;
struct sigaction previous_action;
uintptr_t g_page_bytes = 4096;

// Only async-signal-safe work here: atomics and the mmap system call.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Slot& slot : slots) {
    const uintptr_t begin = slot.begin.load();
    if (begin == 0 || address < begin || address >= slot.end.load()) continue;
    void* page = reinterpret_cast<void*>(address & ~(g_page_bytes - 1));
    slot.was_cut.store(true);
    if (::mmap(page, g_page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) return;
  }
  if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != nullptr) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);  // the instruction runs again and ends the process as if we were not here
  }
}

void install_once() {
  static const bool is_installed = [] {
    g_page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &previous_action) == 0;
  }();
  if (!is_installed) throw Error(ErrorCode::Internal, "cannot install the handler for shortened mapped files");
}

}  // namespace

MappingGuard::MappingGuard(std::span<const std::byte> mapped, std::filesystem::path path) : path_(std::move(path)) {
  if (mapped.empty()) return;
  install_once();
  const std::lock_guard lock(slots_mutex);
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    if (slot.begin.load() != 0) continue;
    const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
    // Up to the end of the last page: vector loads may touch what lies behind the last byte.
    slot.end.store((begin + mapped.size() + g_page_bytes - 1) & ~(g_page_bytes - 1));
    slot.was_cut.store(false);
    slot.begin.store(begin);
    slot_ = static_cast<int>(i);
    return;
  }
  throw Error(ErrorCode::Io, "cannot open " + path_.string() + ": more than " + std::to_string(slots.size()) +
                                 " mapped files at once; close some");
}

MappingGuard::~MappingGuard() {
  if (slot_ >= 0) slots[static_cast<size_t>(slot_)].begin.store(0);
}

bool MappingGuard::was_cut() const { return slot_ >= 0 && slots[static_cast<size_t>(slot_)].was_cut.load(); }

void MappingGuard::check() const {
  if (was_cut()) {
    throw Error(ErrorCode::Io, path_.string() +
                                   " was shortened by another program while it was read; what was read is not "
                                   "complete. Restore the file and start again");
  }
}

}  // namespace cinnabar::base
