// One event of a run (docs/events.md) into the tables of the store.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cinnabar/jobs/sqlite.h"

namespace cinnabar::jobs {

// For the events of one transaction.
class EventIntake {
 public:
  // Paths of the events that are relative begin at `work_folder`.
  EventIntake(Database& database, int64_t run, std::string work_folder);

  // `place` is where the line begins in the file of events. Taking it twice changes nothing; a line that is no event is
  // passed over.
  void take(int64_t place, std::string_view line);
  // Writes how far the run is.
  void finish();

 private:
  void take_progress(const nlohmann::json& event);
  void take_file(const nlohmann::json& event, const std::string& kind);
  void take_input(const nlohmann::json& event);
  void take_origin(const nlohmann::json& event);
  int64_t series(const std::string& name);
  std::string full_path(const std::string& path) const;

  Database& database_;
  const int64_t run_;
  const std::string work_folder_;
  Statement event_;
  Statement metric_;
  Statement file_;
  Statement input_;
  std::map<std::string, int64_t> series_;
  std::optional<double> time_;  // of the event at hand
  std::optional<double> last_time_;

  // How far it is, of the last progress of the main loop.
  struct Reached {
    std::optional<int64_t> step;
    std::optional<int64_t> total;
    std::optional<int64_t> epoch;
    std::optional<int64_t> epochs;
    std::optional<double> loss;
    std::optional<double> average_loss;
  };
  std::optional<Reached> reached_;
};

}  // namespace cinnabar::jobs
