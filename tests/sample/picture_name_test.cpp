#include "cinnabar/sample/picture_name.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "formats/temporary_folder.h"

namespace cinnabar::sample {

namespace {

TEST_CASE("pictures_of_one_name_that_are_written_at_once_are_all_kept") {
  const formats::TemporaryFolder folder;
  constexpr size_t kWriters = 8;
  std::vector<std::filesystem::path> paths(kWriters);
  {
    std::vector<std::jthread> writers;
    for (size_t i = 0; i < kWriters; ++i) {
      writers.emplace_back([&, i] {
        paths[i] = write_new_file(folder / "a_0001_5.png",
                                  [&](const auto& path) { base::write_file(path, std::to_string(i)); });
      });
    }
  }
  CHECK(std::set(paths.begin(), paths.end()).size() == kWriters);
  for (size_t i = 0; i < kWriters; ++i) CHECK(base::read_file(paths[i]) == std::to_string(i));
  CHECK(std::filesystem::exists(folder / "a_0001_5.png"));
  CHECK(std::filesystem::exists(folder / "a_0001_5_8.png"));
}

}  // namespace

}  // namespace cinnabar::sample
