#include "cinnabar/jobs/sqlite.h"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "formats/temporary_folder.h"

namespace cinnabar::jobs {

namespace {

std::string text_back(Database& database, const std::string& text) {
  Statement select(database, "SELECT ?1");
  select.bind(text);
  REQUIRE(select.step());
  return select.text(0);
}

TEST_CASE("values_are_bound_and_never_become_sql") {
  Database database;
  database.run("CREATE TABLE t(name TEXT)");
  const std::string name = "x'); DROP TABLE t; --";
  database.execute("INSERT INTO t VALUES(?1)", name);
  CHECK(database.integer("SELECT count(*) FROM t WHERE name = ?1", name) == 1);
  CHECK(text_back(database, std::string("a\0b", 3)) == std::string("a\0b", 3));
  CHECK(text_back(database, "") == "");
}

TEST_CASE("numbers_that_are_none_come_back") {
  Database database;
  database.run("CREATE TABLE t(value)");
  Statement insert(database, "INSERT INTO t VALUES(?1)");
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.1, std::nan(""), infinity, -infinity}) insert.bind(value).step();
  Statement select(database, "SELECT value FROM t");
  REQUIRE(select.step());
  CHECK(select.number(0) == 0.1);
  REQUIRE(select.step());
  CHECK(std::isnan(select.number(0)));
  REQUIRE(select.step());
  CHECK(select.number(0) == infinity);
  REQUIRE(select.step());
  CHECK(select.number(0) == -infinity);
  CHECK_FALSE(select.step());
}

TEST_CASE("nothing_is_not_zero") {
  Database database;
  Statement select(database, "SELECT ?1, ?2");
  select.bind(std::optional<int64_t>(), std::optional<double>(2.0));
  REQUIRE(select.step());
  CHECK_FALSE(select.maybe_integer(0));
  CHECK(select.maybe_number(1) == 2.0);
}

TEST_CASE("a_transaction_that_is_not_committed_leaves_nothing") {
  Database database;
  database.run("CREATE TABLE t(value)");
  try {
    Transaction transaction(database);
    database.run("INSERT INTO t VALUES(1)");
    throw std::runtime_error("in between");
  } catch (const std::runtime_error&) {
    CHECK(database.integer("SELECT count(*) FROM t") == 0);
  }
  Transaction transaction(database);
  database.run("INSERT INTO t VALUES(1)");
  transaction.commit();
  CHECK(database.integer("SELECT count(*) FROM t") == 1);
}

TEST_CASE("a_transaction_inside_another_shares_its_fate") {
  Database database;
  database.run("CREATE TABLE t(x)");
  {
    Transaction outer(database);
    Transaction inner(database);
    database.run("INSERT INTO t VALUES(1)");
    inner.commit();
  }
  CHECK(database.integer("SELECT count(*) FROM t") == 0);
  {
    Transaction outer(database);
    {
      Transaction inner(database);
      database.run("INSERT INTO t VALUES(1)");
    }
    outer.commit();
  }
  CHECK(database.integer("SELECT count(*) FROM t") == 1);
}

TEST_CASE("errors_say_what_kind_they_are") {
  const formats::TemporaryFolder folder;
  Database garbage(folder.put("garbage", std::string(5000, 'x')), {});
  try {
    garbage.integer("PRAGMA user_version");
    FAIL("a file of letters was read as a database");
  } catch (const SqliteError& error) {
    CHECK(error.is_damage());
    CHECK(error.code() == base::ErrorCode::Format);
  }
  CHECK_THROWS_AS(Database(folder / "missing", {}), SqliteError);
}

TEST_CASE("waiting_for_another_writer_is_told_and_ends_when_told_to_stop") {
  const formats::TemporaryFolder folder;
  const auto file = folder.put("database", "");
  Database first(file, {});
  Transaction held(first);
  std::atomic<bool> stop{false};
  const auto tell = [&](const std::string&) { stop = true; };
  Database second(
      file, {.limit = std::chrono::hours(1), .stop = &stop, .tell = tell, .tell_after = std::chrono::milliseconds(1)});
  try {
    const Transaction other(second);
    FAIL("two writers at once");
  } catch (const SqliteError& error) {
    CHECK(stop);
    CHECK(error.result() == SQLITE_BUSY);
    CHECK_FALSE(error.is_damage());
  }
}

}  // namespace

}  // namespace cinnabar::jobs
