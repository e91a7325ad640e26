#include "cinnabar/base/thread_stack.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

namespace cinnabar::base {

namespace {

constexpr int kMostFrames = 48;
constexpr int kOwnFrames = 2;  // the handler and the return from it

std::array<void*, kMostFrames> g_frames;
std::atomic<int> g_count{0};  // 0: not answered yet

void on_ask(int) {
  const int error = errno;
  g_count.store(::backtrace(g_frames.data(), kMostFrames), std::memory_order_release);
  errno = error;
}

// "library.so(_ZN2at3mulE+0x12) [0x7f]" with the name made readable.
std::string readable(const std::string& frame) {
  const size_t begin = frame.find('(');
  const size_t end = frame.find_first_of("+)", begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos || end <= begin + 1) return frame;
  const std::string symbol = frame.substr(begin + 1, end - begin - 1);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? std::string(name.get()) : symbol;
}

}  // namespace

void prepare_thread_stacks() {
  // The first call loads libgcc, which is not allowed inside a handler.
  void* none[1];
  ::backtrace(none, 1);
  struct sigaction action{};
  action.sa_handler = on_ask;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR2, &action, nullptr);
}

std::vector<std::string> stack_of(pthread_t thread) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  g_count.store(0);
  if (::pthread_kill(thread, SIGUSR2) != 0) return {};
  for (int i = 0; i < 100 && g_count.load(std::memory_order_acquire) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const int count = g_count.load(std::memory_order_acquire);
  if (count == 0) return {};
  const std::unique_ptr<char*, decltype(&std::free)> symbols(::backtrace_symbols(g_frames.data(), count), &std::free);
  std::vector<std::string> stack;
  for (int i = kOwnFrames; symbols && i < count; ++i) stack.push_back(readable(symbols.get()[i]));
  return stack;
}

std::string thread_state(int thread_id) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread_id) + "/stat");
  std::string text;
  std::getline(stat, text);
  // The name in brackets may hold anything; the state follows it.
  const size_t end = text.rfind(')');
  if (end == std::string::npos || end + 2 >= text.size()) return "unknown";
  switch (text[end + 2]) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in the system (uninterruptible)";
    default:
      return "unknown";
  }
}

}  // namespace cinnabar::base
