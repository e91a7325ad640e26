#include "cinnabar/tensor/parallel.h"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <doctest/doctest.h>

namespace cinnabar::tensor {

TEST_CASE("each unit is done once, and by several threads where libtorch has them") {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::vector<std::atomic<int>> counts(200);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for_units(200, [&](int64_t unit) {
    ++counts[static_cast<size_t>(unit)];
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  at::set_num_threads(before);
  for (const auto& count : counts) CHECK(count == 1);
  CHECK(threads.size() <= 2);
}

TEST_CASE("two units can wait for each other: they run at the same time") {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::atomic<int> arrived{0};
  std::atomic<int> met{0};
  for_units(2, [&](int64_t) {
    ++arrived;
    for (int64_t i = 0; i < 20'000'000 && arrived < 2; ++i) std::this_thread::yield();
    if (arrived == 2) ++met;
  });
  at::set_num_threads(before);
  CHECK(met == 2);
}

TEST_CASE("ranges cover all elements, the last one being smaller") {
  std::vector<int> seen(103, 0);
  for_ranges(103, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (const int count : seen) CHECK(count == 1);
  for_ranges(0, 10, [&](int64_t, int64_t) { CHECK(false); });
}

TEST_CASE("an exception of a unit comes out") {
  CHECK_THROWS_AS(for_units(4,
                            [](int64_t unit) {
                              if (unit == 2) throw std::runtime_error("no");
                            }),
                  std::runtime_error);
}

TEST_CASE("scratch memory is kept, grows and is aligned") {
  float* const first = thread_scratch(Scratch::Kernel, 100);
  CHECK(reinterpret_cast<uintptr_t>(first) % 64 == 0);
  CHECK(thread_scratch(Scratch::Kernel, 50) == first);
  CHECK(thread_scratch(Scratch::Shared, 50) != first);
  float* const larger = thread_scratch(Scratch::Kernel, 100'000);
  larger[99'999] = 1.0F;
}

}  // namespace cinnabar::tensor
