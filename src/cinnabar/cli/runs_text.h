// Runs as words for people and as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/jobs/run_store.h"

namespace cinnabar::cli {

// Control characters become "?": names and paths must not steer the terminal.
std::string plain(std::string text);
// "2026-11-30 14:05", local time; "-" when there is none.
std::string time_text(const std::optional<double>& time_s, bool has_seconds = false);
// "4.2 MB"
std::string bytes_text(int64_t bytes);
std::string loss_text(const std::optional<double>& loss);
// "120/1600", "120", "-"
std::string step_text(const jobs::RunRow& run);
// How long it took, or has been going on; "-" when unknown.
std::string length_text(const jobs::RunRow& run);

// Columns as wide as their longest cell; the first row is the heading. The last column is not padded.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

nlohmann::ordered_json run_json(const jobs::RunRow& run, const std::string& folder);

}  // namespace cinnabar::cli
