#include "jobs/run_fixture.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

fs::path make_run(const fs::path& workspace, const RunFixture& fixture) {
  const fs::path folder = workspace / "runs" / fixture.folder;
  fs::create_directories(folder);
  RunRecord record;
  record.folder = fixture.folder;
  record.id = run_id(fixture.folder);
  record.name = fixture.name;
  record.command = "train";
  record.state = fixture.state;
  record.started = 1000.0;
  record.program_version = "0.1.0";
  record.work_folder = workspace.string();
  record.parent = fixture.parent;
  record.process = fixture.process;
  if (fixture.state != "running") {
    record.ended = 1060.0;
    record.exit_status = fixture.state == "done" ? 0 : 1;
  }
  base::write_file(folder / "run.json", record_json(record));
  base::write_file(folder / "config.toml", "network_dim = 8\n");
  base::write_file(folder / "config.json",
                   R"({"cinnabar_config": 1, "command": "train", "values": {"network_dim": 8, "output_name": "dog"}})");
  std::string lines;
  for (const std::string& line : fixture.events) lines += line + "\n";
  append(folder / "events.jsonl", lines);
  return folder;
}

void append(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::app);
  out << text;
}

std::string progress_line(int64_t step, double loss) {
  return nlohmann::json{
      {"type", "progress"}, {"phase", "train"}, {"step", step},          {"total", 100000},
      {"loss", loss},       {"epoch", 1},       {"learning_rate", 1e-4}, {"time", 1000.0 + static_cast<double>(step)}}
      .dump();
}

std::vector<std::string> progress_lines(int64_t steps) {
  std::vector<std::string> lines;
  for (int64_t step = 1; step <= steps; ++step) lines.push_back(progress_line(step, 1.0 / static_cast<double>(step)));
  return lines;
}

ProcessIdentity gone_process() {
  ProcessIdentity process = this_process();
  process.started -= 1;  // the same number, given out before
  return process;
}

}  // namespace cinnabar::jobs
