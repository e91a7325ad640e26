// Runs the built program on the embedded model in a folder of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/base/process.h"

namespace cinnabar::test {

struct Ended {
  int status = -1;
  std::string text;  // both streams
};

class Program {
 public:
  Program();
  ~Program();

  const std::filesystem::path& folder() const { return folder_; }
  // `cinnabar WORDS` in the folder; waits for the end.
  Ended run(const std::vector<std::string>& words) const;
  // The same in the background; the caller reads the pipe to its end.
  base::Process start(const std::vector<std::string>& words, const base::Pipe& output) const;
  // Options of a short training on the embedded model and pictures, written to out/NAME.safetensors.
  static std::vector<std::string> short_training(const std::string& name, const std::vector<std::string>& more);

 private:
  std::filesystem::path folder_;
};

std::string read_to_end(const base::Descriptor& source);

}  // namespace cinnabar::test
