// Makes items ahead of their use on worker threads and hands them out in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cinnabar/base/thread_start.h"

namespace cinnabar::base {

struct PrefetchOptions {
  size_t threads = 1;  // 0, and where the system gives none: made in next(), on the caller's thread
  size_t ahead = 2;    // items that may wait
};

// `make(i)` is called once for each i below `count` unless it throws, from several threads at a time. What is handed
// out does not depend on the number of threads.
template <class T>
class Prefetcher {
 public:
  Prefetcher(size_t count, const PrefetchOptions& options, std::function<T(size_t)> make)
      : count_(count), ahead_(options.ahead), make_(std::move(make)) {
    start_threads(threads_, options.threads, [this] { work(); });
  }
  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  bool has_next() const { return handed_out_ < count_; }
  // Waits for the item. Throws what `make` threw for it; the next call then tries the same item again.
  T next() {
    if (threads_.empty() || is_failed_) {
      T item = make_(handed_out_);
      const std::lock_guard lock(mutex_);
      ++handed_out_;
      is_failed_ = false;
      changed_.notify_all();
      return item;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.contains(handed_out_); });
    Outcome outcome = std::move(ready_.at(handed_out_));
    ready_.erase(handed_out_);
    if (outcome.error) {
      is_failed_ = true;
      lock.unlock();
      std::rethrow_exception(outcome.error);
    }
    ++handed_out_;
    lock.unlock();
    changed_.notify_all();
    return std::move(*outcome.value);
  }

 private:
  struct Outcome {
    std::optional<T> value{};
    std::exception_ptr error{};
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_stopped_ || started_ >= count_ || started_ < handed_out_ + ahead_; });
      if (is_stopped_ || started_ >= count_) return;
      const size_t index = started_++;
      lock.unlock();
      Outcome outcome;
      try {
        outcome.value.emplace(make_(index));
      } catch (...) {  // thread top: handed to the caller of next()
        outcome.error = std::current_exception();
      }
      lock.lock();
      ready_.emplace(index, std::move(outcome));
      changed_.notify_all();
    }
  }

  size_t count_;
  size_t ahead_;
  std::function<T(size_t)> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, Outcome> ready_;
  size_t started_ = 0;
  size_t handed_out_ = 0;
  bool is_failed_ = false;  // the next item, which its caller makes
  bool is_stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cinnabar::base
