// What the store of runs tells about one run.
#include <chrono>

#include "cinnabar/jobs/run_intake.h"
#include "cinnabar/jobs/run_store.h"
#include "cinnabar/jobs/store_schema.h"

namespace cinnabar::jobs {

namespace {

// Each row of one run in `table`, with those of `columns` that this version of the store has.
template <class Take>
void each_row(Database& database, const std::string& table, const std::vector<std::string>& columns, const char* order,
              int64_t run, const Take& take) {
  const std::string list = columns_of(database, table, columns);
  if (list.empty()) return;
  Statement select(database, "SELECT " + list + " FROM " + table + " WHERE run = ?1 ORDER BY " + order);
  select.bind(run);
  while (select.step()) take(select);
}

}  // namespace

std::string RunStore::config_toml(const std::string& id) {
  return guarded([&] {
    std::string text;
    each_row(store_->database, "runs", {"config_toml"}, "1", number_of(id),
             [&](const Statement& row) { text = row.text(0); });
    return text;
  });
}

std::vector<std::pair<std::string, std::string>> RunStore::config(const std::string& id) {
  return guarded([&] {
    std::vector<std::pair<std::string, std::string>> values;
    each_row(store_->database, "config", {"option", "value"}, "option", number_of(id),
             [&](const Statement& row) { values.emplace_back(row.text(0), row.text(1)); });
    return values;
  });
}

std::vector<RunInput> RunStore::inputs(const std::string& id) {
  return guarded([&] {
    std::vector<RunInput> result;
    each_row(store_->database, "inputs", {"kind", "path", "sha256", "note"}, "kind, path", number_of(id),
             [&](const Statement& row) { result.push_back({row.text(0), row.text(1), row.text(2), row.text(3)}); });
    return result;
  });
}

std::vector<RunFile> RunStore::files(const std::string& id, std::chrono::milliseconds patience) {
  return guarded([&] {
    const auto limit = std::chrono::steady_clock::now() + patience;
    try {
      const auto is_over = [&] { return std::chrono::steady_clock::now() > limit; };
      if (!store_->is_newer) complete_files(store_->database, number_of(id), is_over);
    } catch (const SqliteError& error) {
      if (error.is_damage()) throw;
      notes_.push_back("The hashes of files could not be kept: " + error.message() + ".");
    }
    std::vector<RunFile> result;
    each_row(store_->database, "files", {"path", "kind", "step", "bytes", "sha256", "note"}, "time, step, path",
             number_of(id), [&](const Statement& row) {
               result.push_back(
                   {row.text(0), row.text(1), row.maybe_integer(2), row.maybe_integer(3), row.text(4), row.text(5)});
             });
    return result;
  });
}

std::vector<RunEvent> RunStore::events(const std::string& id) {
  return guarded([&] {
    std::vector<RunEvent> result;
    each_row(store_->database, "events", {"type", "time", "content"}, "place", number_of(id),
             [&](const Statement& row) { result.push_back({row.text(0), row.maybe_number(1), row.text(2)}); });
    return result;
  });
}

std::vector<std::string> RunStore::series(const std::string& id) {
  return guarded([&] {
    std::vector<std::string> names;
    Statement select(store_->database,
                     "SELECT name FROM series s WHERE EXISTS(SELECT 1 FROM metrics m WHERE m.run = ?1 AND"
                     " m.series = s.series) ORDER BY name");
    select.bind(number_of(id));
    while (select.step()) names.push_back(select.text(0));
    return names;
  });
}

std::vector<MetricPoint> RunStore::metric(const std::string& id, const std::string& series) {
  return guarded([&] {
    std::vector<MetricPoint> points;
    Statement select(store_->database,
                     "SELECT step, value, time FROM metrics WHERE run = ?1 AND series ="
                     " (SELECT series FROM series WHERE name = ?2) ORDER BY step");
    select.bind(number_of(id), series);
    while (select.step()) points.push_back({select.integer(0), select.number(1), select.maybe_number(2)});
    return points;
  });
}

}  // namespace cinnabar::jobs
