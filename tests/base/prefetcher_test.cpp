#include "cinnabar/base/prefetcher.h"

#include <doctest/doctest.h>

#include <atomic>
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
