#include <unistd.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cinnabar/base/error.h"
#include "cinnabar/cli/event_view.h"
#include "cinnabar/cli/runs_actions.h"
#include "cinnabar/jobs/run_record.h"

namespace cinnabar::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::chrono::milliseconds kLook(200);

// The lines of a file that grows: those that are complete and were not taken yet.
class GrowingFile {
 public:
  explicit GrowingFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::vector<std::string> take() {
    std::vector<std::string> lines;
    std::ifstream in(path_, std::ios::binary);
    in.seekg(place_);
    for (std::string line; std::getline(in, line) && !in.eof();) {
      place_ += static_cast<std::streamoff>(line.size()) + 1;
      lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  std::filesystem::path path_;
  std::streamoff place_ = 0;
};

bool is_progress(const std::string& line) { return line.find("\"type\":\"progress\"") != std::string::npos; }

// The last `count` events that are no progress, and the last progress.
std::vector<std::string> last_of(std::vector<std::string> lines, int64_t count) {
  std::vector<std::string> kept;
  bool has_progress = false;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (is_progress(*line)) {
      if (has_progress) continue;
      has_progress = true;
    } else if (--count < 0) {
      break;
    }
    kept.push_back(std::move(*line));
  }
  return {kept.rbegin(), kept.rend()};
}

bool goes_on(const std::filesystem::path& folder) {
  const jobs::RunRecord record = jobs::read_record(folder);
  // Of a record that cannot be read nothing new is to be expected.
  return record.record_version > 0 && record.state == "running" &&
         jobs::liveness(record.process) != jobs::Liveness::Gone;
}

}  // namespace

int tail_run(jobs::RunStore& store, const schema::Values& options) {
  const jobs::RunRow run = named_run(store, options, "tail");
  const std::filesystem::path folder = store.folder_of(run);
  const bool is_json = options.flag("json");
  EventView view(std::cout, std::cerr, {.is_terminal = ::isatty(STDOUT_FILENO) == 1});
  const auto show = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      const ordered_json event = ordered_json::parse(line, nullptr, false);
      if (!event.is_object()) continue;
      if (is_json) {
        std::cout << line << "\n";
        continue;
      }
      view.show(event);
      const auto text = event.find("text");
      if (event.value("type", ordered_json()) == "error" && text != event.end() && text->is_string()) {
        const bool is_stop = event.value("code", "") == base::to_string(base::ErrorCode::Cancelled);
        view.print((is_stop ? "" : "error: ") + text->get<std::string>());
      }
    }
    std::cout.flush();
  };
  GrowingFile events(folder / "events.jsonl");
  show(last_of(events.take(), options.integer("lines")));
  // Asked before the lines are taken: what a run says last is shown.
  for (bool is_live = run.state == "running"; is_live;) {
    std::this_thread::sleep_for(kLook);
    is_live = goes_on(folder);
    show(events.take());
  }
  view.finish();
  if (!is_json)
    view.print("State of the run " + run.id + ": " + jobs::RunStore(store.workspace()).find(run.id).state + ".");
  return 0;
}

}  // namespace cinnabar::cli
