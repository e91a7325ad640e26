#include "cinnabar/worker/self_test.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

namespace cinnabar::worker {

namespace {

TEST_CASE("every kernel of the processor passes, and each is announced before it runs") {
  std::vector<std::string> begun;
  std::vector<hardware::SelfTestRow> rows;
  run_self_test({.begin = [&](const std::string& name, const std::string& type) { begun.push_back(name + type); },
                 .end =
                     [&](const hardware::SelfTestRow& row) {
                       REQUIRE(begun.size() == rows.size() + 1);
                       CHECK(begun.back() == row.name + row.type);
                       rows.push_back(row);
                     }});
  std::set<std::string> names;
  for (const hardware::SelfTestRow& row : rows) {
    CAPTURE(row.name);
    CAPTURE(row.type);
    CAPTURE(row.problem);
    CAPTURE(row.error);
    CHECK(row.is_good);
    // A comparison with itself would be 0.
    CHECK(row.error > 0.0);
    CHECK(row.ms <= row.first_ms);
    names.insert(row.name);
  }
  for (const char* name : {"gemm", "convolution", "convolution backward", "attention of libtorch", "attention backward",
                           "attention in pieces", "pieces backward", "norms backward", "optimizer step", "cast"}) {
    CAPTURE(name);
    CHECK(names.contains(name));
  }
}

}  // namespace

}  // namespace cinnabar::worker
