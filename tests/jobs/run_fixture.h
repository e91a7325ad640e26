// Folders of runs as the program leaves them, for tests of the store.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/jobs/run_record.h"

namespace cinnabar::jobs {

struct RunFixture {
  std::string folder = "20260102-030405-dog";  // name of the run's folder
  std::string state = "done";                  // "running" with the process below
  ProcessIdentity process{};
  std::vector<std::string> events{};  // lines
  std::string name{};
  std::string parent{};
};

// Makes WORKSPACE/runs/FOLDER and returns its path.
std::filesystem::path make_run(const std::filesystem::path& workspace, const RunFixture& fixture);

void append(const std::filesystem::path& file, const std::string& text);

// {"type": "progress", "phase": "train", ...} of a step, with two series.
std::string progress_line(int64_t step, double loss);
// `steps` of these.
std::vector<std::string> progress_lines(int64_t steps);

// A process that is no more.
ProcessIdentity gone_process();

}  // namespace cinnabar::jobs
