#include "cinnabar/jobs/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

namespace cinnabar::jobs {

namespace {

int primary(int result) { return result & 0xff; }

base::ErrorCode code_of(int result) {
  switch (primary(result)) {
    case SQLITE_FULL:
      return base::ErrorCode::OutOfSpace;
    case SQLITE_NOMEM:
      return base::ErrorCode::OutOfMemory;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return base::ErrorCode::Denied;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return base::ErrorCode::Format;
    default:
      return base::ErrorCode::Io;
  }
}

int wait_for_others(void* state, int count) {
  const auto& patience = *static_cast<const Patience*>(state);
  if (patience.stop != nullptr && *patience.stop) return 0;
  // 1, 2, 4, ... 32 ms, then 32 each: the count says how long it has been.
  const int64_t waited_ms = count < 6 ? (int64_t{1} << count) - 1 : 63 + (int64_t{count} - 6) * 32;
  if (waited_ms >= patience.limit.count()) return 0;
  // Each count has its own waiting time, so this is said once a wait.
  const bool was_long =
      count > 0 && waited_ms - (count < 6 ? int64_t{1} << (count - 1) : 32) >= patience.tell_after.count();
  if (patience.tell && !was_long && waited_ms >= patience.tell_after.count())
    patience.tell("The store of runs is being written by another program; waiting for it.");
  std::this_thread::sleep_for(std::chrono::milliseconds(1 << std::min(count, 5)));
  return 1;
}

}  // namespace

SqliteError::SqliteError(int result, const std::string& message)
    : base::Error(code_of(result), message), result_(primary(result)) {}

bool SqliteError::is_damage() const { return result_ == SQLITE_CORRUPT || result_ == SQLITE_NOTADB; }

Database::Database(const std::filesystem::path& file, Patience patience)
    : patience_(std::make_unique<Patience>(patience)) {
  open(file.c_str(), SQLITE_OPEN_READWRITE);
}

Database::Database() : patience_(std::make_unique<Patience>()) {
  open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

void Database::open(const char* name, int flags) {
  const int result = ::sqlite3_open_v2(name, &handle_, flags | SQLITE_OPEN_PRIVATECACHE, nullptr);
  if (result != SQLITE_OK) {
    const std::string text = handle_ == nullptr ? ::sqlite3_errstr(result) : ::sqlite3_errmsg(handle_);
    ::sqlite3_close(std::exchange(handle_, nullptr));
    throw SqliteError(result, text);
  }
  ::sqlite3_extended_result_codes(handle_, 1);
  ::sqlite3_busy_handler(handle_, wait_for_others, patience_.get());
  // The file may come from elsewhere: nothing in its schema is trusted to run functions or to write itself.
  ::sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  ::sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Database::~Database() {
  if (handle_ != nullptr) ::sqlite3_close_v2(handle_);
}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), patience_(std::move(other.patience_)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(patience_, other.patience_);
  return *this;
}

void Database::run(const char* sql) {
  const int result = ::sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result, sql);
}

int64_t Database::last_row() const { return ::sqlite3_last_insert_rowid(handle_); }

void Database::fail(int result, std::string_view what) const {
  throw SqliteError(result, std::string(::sqlite3_errmsg(handle_)) + " (" + std::string(what.substr(0, 60)) + ")");
}

Statement::Statement(const Database& database, const std::string& sql) : database_(database) {
  const int result =
      ::sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (result != SQLITE_OK) database.fail(result, sql);
}

Statement::~Statement() { ::sqlite3_finalize(statement_); }

bool Statement::step() {
  const int result = ::sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  database_.fail(result, ::sqlite3_sql(statement_));
}

void Statement::reset() noexcept {
  ::sqlite3_reset(statement_);
  ::sqlite3_clear_bindings(statement_);
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) database_.fail(result, ::sqlite3_sql(statement_));
}

void Statement::bind_at(int index, int64_t value) { check(::sqlite3_bind_int64(statement_, index, value)); }

void Statement::bind_at(int index, double value) {
  if (std::isnan(value)) return bind_at(index, std::string_view("nan"));
  check(::sqlite3_bind_double(statement_, index, value));
}

void Statement::bind_at(int index, std::string_view value) {
  check(::sqlite3_bind_text64(statement_, index, value.data() == nullptr ? "" : value.data(), value.size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind_at(int index, std::nullopt_t) { check(::sqlite3_bind_null(statement_, index)); }

bool Statement::is_null(int column) const { return ::sqlite3_column_type(statement_, column) == SQLITE_NULL; }

int64_t Statement::integer(int column) const { return ::sqlite3_column_int64(statement_, column); }

double Statement::number(int column) const {
  if (::sqlite3_column_type(statement_, column) == SQLITE_TEXT) return std::nan("");
  return ::sqlite3_column_double(statement_, column);
}

std::string Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(::sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(::sqlite3_column_bytes(statement_, column))};
}

std::optional<double> Statement::maybe_number(int column) const {
  if (is_null(column)) return std::nullopt;
  return number(column);
}

std::optional<int64_t> Statement::maybe_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

Transaction::Transaction(Database& database)
    : database_(database), is_open_(::sqlite3_get_autocommit(database.handle()) != 0) {
  if (is_open_) database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  // A failed statement may have rolled back already; then this is a harmless error.
  if (is_open_) ::sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  if (is_open_) database_.run("COMMIT");
  is_open_ = false;
}

}  // namespace cinnabar::jobs
