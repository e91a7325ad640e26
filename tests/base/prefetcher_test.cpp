#include "cinnabar/base/prefetcher.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <stdexcept>

using cinnabar::base::Prefetcher;

TEST_CASE("items come in order whatever the number of threads") {
  for (const size_t threads : {0, 1, 4}) {
    Prefetcher<size_t> items(50, {.threads = threads, .ahead = 3}, [](size_t i) { return i * i; });
    for (size_t i = 0; i < 50; ++i) CHECK(items.next() == i * i);
    CHECK(!items.has_next());
  }
}

TEST_CASE("an item that failed is tried again by the next call and none is lost") {
  for (const size_t threads : {0, 1, 4}) {
    CAPTURE(threads);
    std::atomic<int> failures{2};
    Prefetcher<size_t> items(6, {.threads = threads, .ahead = 2}, [&](size_t i) {
      if (i == 3 && failures > 0) {
        --failures;
        throw std::runtime_error("no memory");
      }
      return i;
    });
    for (size_t i = 0; i < 3; ++i) CHECK(items.next() == i);
    CHECK_THROWS_AS(items.next(), std::runtime_error);
    CHECK_THROWS_AS(items.next(), std::runtime_error);
    for (size_t i = 3; i < 6; ++i) CHECK(items.next() == i);
    CHECK(!items.has_next());
  }
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("with fewer threads than asked for all items come") {
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  // Room for a few stacks of threads at most; those of finished ones may be used again.
  rlimit limited = before;
  limited.rlim_cur = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + (uint64_t{40} << 20);
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  {
    Prefetcher<size_t> items(20, {.threads = 64, .ahead = 3}, [](size_t i) { return i; });
    for (size_t i = 0; i < 20; ++i) CHECK(items.next() == i);
    CHECK(!items.has_next());
  }
  ::setrlimit(RLIMIT_AS, &before);
}
#endif
