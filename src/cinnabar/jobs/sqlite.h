// SQLite behind a small wall: one connection, statements with bound values, transactions that roll back by themselves.
// No text of a user or a file ever becomes SQL: SQL is constant, values are bound.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cinnabar/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cinnabar::jobs {

// What SQLite reports. Code: OutOfSpace when the disk is full, Denied for a database that cannot be written, Format for
// a damaged one, else Io.
class SqliteError : public base::Error {
 public:
  SqliteError(int result, const std::string& message);
  // The primary result code, for instance SQLITE_BUSY.
  int result() const { return result_; }
  // The file is no intact database: it cannot be used again as it is.
  bool is_damage() const;

 private:
  int result_;
};

// How long a connection waits for others that hold the database, and what ends the waiting early.
struct Patience {
  std::chrono::milliseconds limit{5000};
  const std::atomic<bool>* stop = nullptr;  // may be null
  // Gets a sentence once a wait has lasted `tell_after`. May be empty; must not throw.
  std::function<void(const std::string&)> tell{};
  std::chrono::milliseconds tell_after{1000};
};

class Database {
 public:
  // The file must exist, or be empty.
  Database(const std::filesystem::path& file, Patience patience);
  // In memory.
  Database();
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;

  sqlite3* handle() const { return handle_; }
  // Constant SQL without values; several statements are allowed. Throws SqliteError.
  void run(const char* sql);
  // A statement with values, and without rows of interest. Throws SqliteError.
  template <class... V>
  void execute(const char* sql, const V&... values);
  // The first value of the first row as a whole number; nothing when there is no row.
  template <class... V>
  std::optional<int64_t> integer(const char* sql, const V&... values);
  int64_t last_row() const;
  [[noreturn]] void fail(int result, std::string_view what) const;

 private:
  void open(const char* name, int flags);

  sqlite3* handle_ = nullptr;
  std::unique_ptr<Patience> patience_;  // at a fixed address: the waiting callback reads it
};

// One prepared statement. Values are bound from 1, columns read from 0.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <class... V>
  Statement& bind(const V&... values) {
    reset();
    int index = 0;
    (bind_at(++index, values), ...);
    return *this;
  }
  // True while there is a row. Throws SqliteError.
  bool step();
  void reset() noexcept;

  bool is_null(int column) const;
  int64_t integer(int column) const;
  // NaN is kept as the text "nan", since SQLite stores the number as NULL.
  double number(int column) const;
  std::string text(int column) const;  // NULL: empty
  std::optional<double> maybe_number(int column) const;
  std::optional<int64_t> maybe_integer(int column) const;

 private:
  void bind_at(int index, int64_t value);
  void bind_at(int index, int value) { bind_at(index, static_cast<int64_t>(value)); }
  void bind_at(int index, bool value) { bind_at(index, static_cast<int64_t>(value)); }
  void bind_at(int index, double value);
  void bind_at(int index, std::string_view value);
  void bind_at(int index, const std::string& value) { bind_at(index, std::string_view(value)); }
  void bind_at(int index, const char* value) { bind_at(index, std::string_view(value)); }
  void bind_at(int index, std::nullopt_t);
  template <class T>
  void bind_at(int index, const std::optional<T>& value) {
    if (value) {
      bind_at(index, *value);
    } else {
      bind_at(index, std::nullopt);
    }
  }
  void check(int result) const;

  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Takes the right to write at once, so that it never fails half-way for another writer. Without commit() it rolls back.
// One inside another is a part of that: the outer one decides what becomes of both.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool is_open_;  // false: committed, or a part of another one
};

template <class... V>
void Database::execute(const char* sql, const V&... values) {
  Statement statement(*this, sql);
  statement.bind(values...);
  while (statement.step()) {
  }
}

template <class... V>
std::optional<int64_t> Database::integer(const char* sql, const V&... values) {
  Statement statement(*this, sql);
  statement.bind(values...);
  if (!statement.step() || statement.is_null(0)) return std::nullopt;
  return statement.integer(0);
}

}  // namespace cinnabar::jobs
