// Writes files of a run beside the training, one save at a time, and waits out a full or vanished disk.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "cinnabar/base/events.h"

namespace cinnabar::train {

struct SaveQueueOptions {
  double retry_s = 60.0;             // between attempts while the disk cannot be written
  double most_wait_s = 15.0 * 60.0;  // disk_wait_minutes
  // Called once when there is no more waiting: true when it changed something, and writing is tried once more.
  std::function<bool()> last_resort;
};

class SaveQueue {
 public:
  // `stop` ends waiting for the disk. Both must outlive the queue.
  SaveQueue(base::EventSink& events, const std::atomic<bool>& stop, const SaveQueueOptions& options);
  // Lets the write that is going on end.
  ~SaveQueue();
  SaveQueue(const SaveQueue&) = delete;
  SaveQueue& operator=(const SaveQueue&) = delete;

  // `write` makes `what` ("the save of step 100") from copies of its own; it is called again after a fault of the disk
  // and so must start anew each time. Waits for the save before. Throws what that one failed with.
  void submit(std::string what, std::function<void()> write);
  // Waits until everything is written. Throws what the last save failed with.
  void finish();
  // To be called between steps: returns at once unless a save waits for the disk; then the training pauses here, too,
  // since its next save would be lost. Throws what the save failed with in the end.
  void pause_while_waiting();

 private:
  void work();
  void write_with_retries();
  void rethrow(std::unique_lock<std::mutex>& lock);

  base::EventSink& events_;
  const std::atomic<bool>& stop_;
  SaveQueueOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::function<void()> write_;  // empty: nothing to do
  bool is_writing_ = false;
  bool is_waiting_ = false;  // for the disk
  bool is_ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace cinnabar::train
