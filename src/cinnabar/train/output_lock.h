// One run at a time writes the files of a name in a folder.
#pragma once

#include <filesystem>
#include <string>

#include "cinnabar/base/events.h"
#include "cinnabar/base/process.h"

namespace cinnabar::train {

class OutputLock {
 public:
  // Makes `folder` and holds FOLDER/.NAME.lock, which names this process and `run`, until it is destroyed; the file is
  // then removed. The lock itself ends with the process, however that ends: a file that a killed run left behind locks
  // nothing. Throws Error{Config} while another run holds it, Error{Io} or Error{OutOfSpace} when it cannot be made.
  // File systems without locks are told of in a log line, and nothing is held.
  OutputLock(const std::filesystem::path& folder, const std::string& name, base::EventSink& events,
             const std::string& run = {});
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  [[noreturn]] void refuse(const std::filesystem::path& folder, const std::string& name) const;

  std::filesystem::path path_;
  base::Descriptor file_;  // closed: nothing is held
};

}  // namespace cinnabar::train
