#include "cinnabar/jobs/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cinnabar/base/drawn_seed.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/log.h"
#include "cinnabar/base/process.h"
#include "cinnabar/hardware/process_limits.h"
#include "cinnabar/jobs/auto_options.h"
#include "cinnabar/jobs/known_failures.h"
#include "cinnabar/jobs/line_reader.h"
#include "cinnabar/jobs/run_folder.h"
#include "cinnabar/jobs/run_record.h"
#include "cinnabar/jobs/run_recorder.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::jobs {

namespace {

using nlohmann::ordered_json;

constexpr size_t kShownLogLines = 12;
// Of the loader of programs, when a library is missing.
constexpr int kNotLoaded = 127;
// After the engine is gone, for the store of runs and the hashes of the last files.
constexpr std::chrono::seconds kRecorderPatience(2);
// From the first signal to the end of an engine that has nothing to save.
constexpr std::chrono::seconds kStopPatience(30);

// Takes signals out of their handlers and into a descriptor, for as long as it lives.
class SignalQueue {
 public:
  SignalQueue() {
    ::sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    fd_ = base::Descriptor(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_.is_open())
      throw base::Error(base::ErrorCode::Io, std::string("cannot watch signals: ") + std::strerror(errno));
  }
  ~SignalQueue() {
    take();  // for a run that has ended meanwhile
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  int fd() const { return fd_.get(); }
  int take() const {
    int count = 0;
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof(info)) == sizeof(info)) ++count;
    return count;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  base::Descriptor fd_;
};

// Notes when an event came, which the engine leaves out, and keeps it. False when the record cannot be written.
bool record_event(ordered_json& event, const RunFolder& folder) {
  event["time"] = now_s();
  return folder.append_event(event.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

void tell_warnings(RunRecorder& recorder, const RunFolder& folder, const RunHandlers& handlers) {
  for (const std::string& text : recorder.take_warnings()) {
    ordered_json event = {{"type", "warning"}, {"text", text}};
    record_event(event, folder);
    if (handlers.event) handlers.event(event);
  }
}

// Sentences of this program, into the record and to the user.
void tell_all(const std::vector<std::string>& sentences, const RunFolder& folder, const RunHandlers& handlers) {
  for (const std::string& text : sentences) {
    ordered_json event = {{"type", "log"}, {"text", text}};
    record_event(event, folder);
    if (handlers.event) handlers.event(event);
  }
}

class Run {
 public:
  Run(const schema::Config& config, const RunFolder& folder, const RunHandlers& handlers, RunRecorder& recorder)
      : config_(config), folder_(folder), handlers_(handlers), recorder_(recorder) {}

  RunOutcome execute(const Engine& engine, const SignalQueue& signals) {
    EngineProcess worker =
        start_engine(engine, {.arguments = {config_.command, "--config", folder_.config_file().string()}});
    watch(worker.process, signals, worker.events, worker.output);
    const base::ExitStatus status = worker.process.wait();
    return outcome(status);
  }

 private:
  void watch(base::Process& worker, const SignalQueue& signals, base::Descriptor& events, base::Descriptor& output) {
    LineReader event_lines(events);
    LineReader output_lines(output);
    while (event_lines.is_open() || output_lines.is_open()) {
      pollfd waits[] = {{event_lines.is_open() ? events.get() : -1, POLLIN, 0},
                        {output_lines.is_open() ? output.get() : -1, POLLIN, 0},
                        {signals.fd(), POLLIN, 0}};
      // Grandchildren may hold the pipes open after the worker is gone.
      const int ready = ::poll(waits, 3, 1000);
      if (ready < 0 && errno != EINTR) break;
      if (ready == 0 && worker.poll()) break;
      if (waits[0].revents != 0) {
        for (const std::string& line : event_lines.take()) on_event(line);
      }
      if (waits[1].revents != 0) {
        for (const std::string& line : output_lines.take()) on_output(line);
      }
      if (waits[2].revents != 0) on_signals(worker, signals.take());
      if (is_out_of_patience()) worker.send_signal(SIGKILL);
      tell_warnings(recorder_, folder_, handlers_);
    }
  }

  // A step of a training is waited for, since its end is saved. Of pictures and caches what is whole was saved, and one
  // step of a very large picture can take an hour.
  bool is_out_of_patience() const {
    if (signals_ == 0 || (config_.command != "sample" && config_.command != "cache")) return false;
    return std::chrono::steady_clock::now() - first_signal_ > kStopPatience;
  }

  void on_event(const std::string& line) {
    ordered_json event = ordered_json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("type") || !event["type"].is_string()) return on_output(line);
    const bool is_kept = record_event(event, folder_);
    const int problem = errno;
    const std::string type = event["type"].get<std::string>();
    const bool is_result = type == "saved" || (type == "sample" && config_.command == "sample");
    if (is_result && event.contains("path")) saved_.push_back(event.value("path", ""));
    if (type == "error") error_ = event;
    if (type == "progress" && event.value("phase", "") == "train") last_step_ = event.value("step", int64_t{0});
    if (handlers_.event) handlers_.event(event);
    if (!is_kept && !std::exchange(is_loss_told_, true)) {
      const ordered_json warning = {
          {"type", "warning"},
          {"text", "events are missing in " + (folder_.path() / "events.jsonl").string() +
                       ", which cannot be written: " + std::strerror(problem) + ". The run goes on"}};
      if (handlers_.event) handlers_.event(warning);
    }
  }

  void on_output(const std::string& line) {
    folder_.append_log(line);
    last_lines_.push_back(line);
    if (last_lines_.size() > kShownLogLines) last_lines_.erase(last_lines_.begin());
    const std::string note = known_.take(line);
    if (!handlers_.engine_line) return;
    handlers_.engine_line(line);
    if (!note.empty()) handlers_.engine_line(note);
  }

  void on_signals(base::Process& worker, int count) {
    for (int i = 0; i < count; ++i) {
      if (++signals_ == 1) first_signal_ = std::chrono::steady_clock::now();
      worker.send_signal(signals_ <= 2 ? SIGTERM : SIGKILL);
      if (handlers_.interrupted && signals_ <= 2) handlers_.interrupted(signals_);
    }
  }

  RunOutcome outcome(const base::ExitStatus& status) const {
    RunOutcome result{.saved = saved_, .record = folder_.path()};
    if (status.signal) {
      result.exit_status = signals_ > 0 ? 130 : 1;
      result.message = signals_ > 0 ? "The run was ended at once." : killed_text(*status.signal);
    } else {
      result.exit_status = *status.code;
      if (result.exit_status != 0) result.message = failed_text(result.exit_status);
      if (!is_promised(result.exit_status)) result.exit_status = base::exit_status(base::ErrorCode::Internal);
    }
    // A device that fails ends a crash of a library as it ends an error of ours.
    const bool is_crash = status.signal && signals_ == 0 && *status.signal != SIGKILL;
    if (is_crash && !known_.explanation().empty()) result.exit_status = base::exit_status(base::ErrorCode::Device);
    if (!result.message.empty() && is_worth_saving_text()) {
      const bool is_closed = std::string_view(".!?\n").find(result.message.back()) != std::string_view::npos;
      result.message += (is_closed ? " " : ". ") + saved_text();
    }
    return result;
  }

  // Errors of the user's making say all themselves; after a fault of a device it matters what is left.
  bool is_worth_saving_text() const {
    if (!error_) return true;
    const base::ErrorCode code = base::error_code_from(error_->value("code", ""));
    return code == base::ErrorCode::Device || code == base::ErrorCode::OutOfMemory;
  }

  // Those of the loader of programs and of libraries are none that callers are told of.
  static bool is_promised(int code) { return code == 0 || code == 1 || code == 2 || code == 70 || code == 130; }

  std::string failed_text(int code) const {
    if (error_) return error_->value("text", "");
    if (code == 130) return "The run was interrupted.";
    if (const std::string why = known_.shortage(); !why.empty()) return "The engine ended: " + why + ".";
    std::string text = code == kNotLoaded
                           ? "The engine could not be started: a library that it needs is missing or does not fit. "
                             "Build it anew with ./cinnabar setup."
                           : "The engine ended with status " + std::to_string(code) + " without saying why.";
    if (last_lines_.empty()) return text;
    if (const std::string known = known_.explanation(); !known.empty()) text += " " + known;
    text += " Its last words:";
    for (const std::string& line : last_lines_) text += "\n  " + line;
    return text + "\n";
  }

  std::string killed_text(int signal) const {
    const std::string name = ::strsignal(signal);
    const std::string when = last_step_ > 0 ? " after step " + std::to_string(last_step_) : "";
    if (signal == SIGKILL) {
      return "The engine was killed" + when +
             " (SIGKILL), most likely by the system because memory ran out. Less memory: "
             "--gradient_checkpointing, a smaller --train_batch_size or --resolution, --cache_latents, "
             "--mixed_precision bf16.";
    }
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
      return "The engine was ended from outside" + when + " (" + name + ").";
    if (const std::string known = known_.explanation(); !known.empty())
      return "The engine crashed" + when + " (" + name + "). " + known;
    if (const std::string why = known_.shortage(); !why.empty()) return "The engine ended" + when + ": " + why + ".";
    if (const std::string why = hardware::suspicion_text(hardware::process_limits()); !why.empty())
      return "The engine crashed" + when + " (" + name + "). " + why;
    return "The engine crashed" + when + " (" + name +
           "). This is a bug in Cinnabar or in a driver; please report it with the record of the run.";
  }

  std::string saved_text() const {
    if (saved_.empty()) return "Nothing had been saved yet.";
    return "Saved before: " + saved_.back() +
           (saved_.size() > 1 ? " and " + std::to_string(saved_.size() - 1) + " more." : ".");
  }

  const schema::Config& config_;
  const RunFolder& folder_;
  const RunHandlers& handlers_;
  RunRecorder& recorder_;
  std::vector<std::string> saved_;
  std::vector<std::string> last_lines_;
  std::optional<ordered_json> error_;
  KnownFailures known_;
  int64_t last_step_ = 0;
  int signals_ = 0;
  std::chrono::steady_clock::time_point first_signal_;
  bool is_loss_told_ = false;
};

std::string version_of(const Engine& engine) {
  try {
    return torch_version(engine.torch);
  } catch (const base::Error&) {
    return "unknown";
  }
}

RunRecord first_record(const schema::Config& config, const Engine& engine, const RunFolder& folder,
                       const std::string& name, const std::string& parent) {
  RunRecord record;
  record.folder = folder.path().filename().string();
  record.id = run_id(record.folder);
  record.name = name;
  record.command = config.command;
  record.state = "running";
  record.started = now_s();
  record.program_version = CINNABAR_VERSION;
  record.libtorch = version_of(engine);
  std::error_code error;
  record.work_folder = std::filesystem::current_path(error).string();
  record.parent = parent;
  record.process = this_process();
  return record;
}

void write_outcome(RunRecord record, const RunOutcome& outcome, const RunFolder& folder) {
  record.state = outcome.exit_status == 0 ? "done" : outcome.exit_status == 130 ? "interrupted" : "failed";
  record.ended = now_s();
  record.exit_status = outcome.exit_status;
  record.message = outcome.message;
  record.saved = outcome.saved;
  try {
    folder.write_state(record_json(record));
  } catch (const base::Error& error) {
    // The run itself is over; its outcome must reach the user all the same.
    base::log_warning(error.message());
  }
}

}  // namespace

RunOutcome run(const schema::Schema& schema, const schema::Config& asked, const Engine& engine,
               const std::filesystem::path& workspace, const RunHandlers& handlers, const std::string& parent) {
  schema::Config config = asked;
  std::vector<std::string> choices;  // made here for the user
  // Drawn here, so that the record of the run repeats it. A resumed run takes the seed of its state.
  if (config.command == "train" && !config.values.has("seed") && !config.values.has("resume")) {
    config.values.set("seed", base::drawn_seed());
    choices.push_back("seed was not given; this run uses " + schema::value_text(config.values.raw("seed")) + ".");
  }
  if (config.values.flag("auto")) {
    std::ranges::move(apply_auto(schema, machine_with(engine.torch), config), std::back_inserter(choices));
  }
  const std::string given = config.values.maybe_text("output_name").value_or("");
  const std::string name = given.empty() || given == "last" ? config.command : given;
  const RunFolder folder(workspace, name);
  folder.write_config(schema, config);
  // Until the record is final: a signal that comes late would leave it unfinished.
  const SignalQueue signals;
  const RunRecord record = first_record(config, engine, folder, name, parent);
  folder.write_state(record_json(record));
  RunRecorder recorder(std::filesystem::absolute(workspace), folder.path());
  tell_all(choices, folder, handlers);
  RunOutcome outcome;
  try {
    outcome = Run(config, folder, handlers, recorder).execute(engine, signals);
  } catch (const base::Error& error) {
    write_outcome(record, {.exit_status = base::exit_status(error.code()), .message = error.message()}, folder);
    throw;
  }
  write_outcome(record, outcome, folder);
  recorder.finish(kRecorderPatience);
  tell_warnings(recorder, folder, handlers);
  return outcome;
}

}  // namespace cinnabar::jobs
