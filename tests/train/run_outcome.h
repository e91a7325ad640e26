// Runs of the engine inside this process, on a tiny model and three pictures, and what can be seen of them.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "formats/temporary_folder.h"
#include "train/option_effects.h"

namespace cinnabar::test {

class Laboratory {
 public:
  // Makes a tiny model of the family, a second one, the pictures with captions, data set files, prompts and a network
  // file in a folder of its own, which becomes the working folder of the process.
  explicit Laboratory(const std::string& family = "sd1");

  // Runs `cinnabar train` with the base options and these, which count over them. Each outcome is computed once. Text
  // by part; a failed run has its message under Part::Error, whatever it wrote before, and so has one whose file holds
  // numbers that are not finite.
  const std::map<Part, std::string>& run(const Words& words);

 private:
  std::map<Part, std::string> compute(const Words& words) const;

  formats::TemporaryFolder folder_;
  std::set<std::filesystem::path> own_files_;  // what runs must leave in the folder
  std::map<Words, std::map<Part, std::string>> known_;
};

// What a run showed in that part; "" for nothing.
std::string part_of(const std::map<Part, std::string>& outcome, Part part);

}  // namespace cinnabar::test
