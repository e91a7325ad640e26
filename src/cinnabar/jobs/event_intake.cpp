#include "cinnabar/jobs/event_intake.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "cinnabar/jobs/file_facts.h"

namespace cinnabar::jobs {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

// Fields of a progress event that are no series of measurements.
constexpr std::array<std::string_view, 8> kNoSeries = {"type",  "phase",  "step",   "total",
                                                       "epoch", "epochs", "left_s", "time"};
constexpr size_t kMaxSeriesName = 100;
constexpr double kSlack_s = 2.0;  // file systems keep times as coarse as that

std::string text_of(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<int64_t> whole(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

// Numbers that are none any more come as text.
std::optional<double> number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::nan("");
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> number_of(const json& event, const char* key) {
  const auto found = event.find(key);
  return found == event.end() ? std::nullopt : number(*found);
}

}  // namespace

EventIntake::EventIntake(Database& database, int64_t run, std::string work_folder)
    : database_(database),
      run_(run),
      work_folder_(std::move(work_folder)),
      event_(database, "INSERT OR REPLACE INTO events(run, place, type, time, content) VALUES(?1, ?2, ?3, ?4, ?5)"),
      metric_(database, "INSERT OR REPLACE INTO metrics(run, series, step, value, time) VALUES(?1, ?2, ?3, ?4, ?5)"),
      file_(database,
            "INSERT OR REPLACE INTO files(run, path, kind, step, epoch, time, bytes, modified_ns, sha256, note)"
            " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"),
      input_(database, "INSERT OR REPLACE INTO inputs(run, kind, path, sha256, note) VALUES(?1, ?2, ?3, ?4, ?5)") {}

void EventIntake::take(int64_t place, std::string_view line) {
  const json event = json::parse(line, nullptr, false);
  if (!event.is_object()) return;
  const std::string type = text_of(event, "type");
  if (type.empty()) return;
  time_ = number_of(event, "time");
  if (time_) last_time_ = time_;
  if (type == "progress") return take_progress(event);
  if (type == "saved") take_file(event, text_of(event, "kind"));
  if (type == "sample") take_file(event, "sample");
  if (type == "input") take_input(event);
  if (type == "resumed") take_origin(event);
  event_.bind(run_, place, type, time_, line).step();
}

void EventIntake::take_progress(const json& event) {
  const auto step = whole(event, "step");
  if (!step || text_of(event, "phase") != "train") return;
  reached_ = {.step = step,
              .total = whole(event, "total"),
              .epoch = whole(event, "epoch"),
              .epochs = whole(event, "epochs"),
              .loss = number_of(event, "loss"),
              .average_loss = number_of(event, "average_loss")};
  for (const auto& [name, value] : event.items()) {
    if (std::find(kNoSeries.begin(), kNoSeries.end(), name) != kNoSeries.end() || name.size() > kMaxSeriesName)
      continue;
    const auto measured = number(value);
    if (measured) metric_.bind(run_, series(name), *step, *measured, time_).step();
  }
}

int64_t EventIntake::series(const std::string& name) {
  const auto known = series_.find(name);
  if (known != series_.end()) return known->second;
  database_.execute("INSERT OR IGNORE INTO series(name) VALUES(?1)", name);
  const int64_t number = database_.integer("SELECT series FROM series WHERE name = ?1", name).value();
  series_[name] = number;
  return number;
}

std::string EventIntake::full_path(const std::string& path) const {
  return (fs::path(work_folder_) / path).lexically_normal().string();
}

void EventIntake::take_file(const json& event, const std::string& kind) {
  if (text_of(event, "path").empty()) return;
  const std::string path = full_path(text_of(event, "path"));
  const auto facts = facts_of(path);
  const std::string given = text_of(event, "sha256");
  std::optional<std::string> note;
  if (!facts) note = "gone";
  // Taken in late, the path may hold what another run saved since. Files are complete before they are told of.
  const bool is_later = facts && time_ && static_cast<double>(facts->modified_ns) * 1e-9 > *time_ + kSlack_s;
  if (is_later) note = "changed since it was saved";
  file_
      .bind(run_, path, kind, whole(event, "step"), whole(event, "epoch"), time_,
            facts && !is_later ? std::optional(facts->bytes) : std::nullopt,
            facts && !is_later ? std::optional(facts->modified_ns) : std::nullopt,
            given.empty() ? std::nullopt : std::optional(given), note)
      .step();
}

void EventIntake::take_input(const json& event) {
  const std::string hash = text_of(event, "sha256");
  const std::string note = text_of(event, "text");
  input_
      .bind(run_, text_of(event, "kind"), full_path(text_of(event, "path")),
            hash.empty() ? std::nullopt : std::optional(hash), note.empty() ? std::nullopt : std::optional(note))
      .step();
}

// The run that saved the state which this one began from.
void EventIntake::take_origin(const json& event) {
  const std::string path = full_path(text_of(event, "path"));
  database_.execute(
      "UPDATE runs SET parent = coalesce((SELECT r.id FROM files f JOIN runs r ON r.run = f.run"
      " WHERE f.path = ?2 AND f.run <> ?1 ORDER BY f.time DESC LIMIT 1), parent) WHERE run = ?1",
      run_, path);
}

void EventIntake::finish() {
  if (last_time_) database_.execute("UPDATE runs SET event_time = ?2 WHERE run = ?1", run_, last_time_);
  if (!reached_) return;
  database_.execute(
      "UPDATE runs SET step = ?2, total = ?3, epoch = ?4, epochs = ?5, loss = ?6, average_loss = ?7 WHERE run = ?1",
      run_, reached_->step, reached_->total, reached_->epoch, reached_->epochs, reached_->loss, reached_->average_loss);
}

}  // namespace cinnabar::jobs
