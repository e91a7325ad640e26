// Threads that share out work whose result does not depend on how many they are.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "cinnabar/base/log.h"

namespace cinnabar::base {

// Starts `count` threads of `work`, or as many as the system gives (ulimit -u and -v), which is logged. The caller must
// do the work itself when there are none.
template <class Thread, class Work>
void start_threads(std::vector<Thread>& threads, size_t count, const Work& work) {
  threads.reserve(threads.size() + count);
  // Joinable threads must not be destroyed, so nothing is thrown once one runs.
  const auto stop_at = [&](size_t started, const std::string& reason) {
    log_warning("the system gives " + std::to_string(started) + " of " + std::to_string(count) + " threads (" + reason +
                "); the work goes on, slower");
  };
  for (size_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error& error) {
      return stop_at(i, error.code().message());
    } catch (const std::bad_alloc&) {
      return stop_at(i, "no memory");
    }
  }
}

}  // namespace cinnabar::base
