#include "cinnabar/base/mapped_pages.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/mapped_file.h"

namespace cinnabar::base {
namespace {

struct LargeFile {
  LargeFile() : path(std::filesystem::temp_directory_path() / ("cinnabar_pages_" + std::to_string(::getpid()))) {
    write_file(path, std::string(1 << 16, 'a'));
  }
  ~LargeFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

TEST_CASE("dropped_pages_are_read_again_from_the_file") {
  const LargeFile file;
  const MappedFile mapped(file.path);
  CHECK(is_mapped(mapped.bytes()));
  CHECK(drop_pages(mapped.bytes().subspan(10, 20000)));
  CHECK(std::ranges::all_of(mapped.bytes(), [](std::byte byte) { return byte == std::byte{'a'}; }));
}

TEST_CASE("ordinary_memory_is_never_dropped") {
  const std::vector<std::byte> memory(1 << 16, std::byte{7});
  CHECK_FALSE(is_mapped(memory));
  CHECK_FALSE(drop_pages(memory));
  CHECK_FALSE(allow_private_writes(memory));
  CHECK(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{7}; }));
}

TEST_CASE("memory_behind_a_mapped_file_and_that_of_a_closed_one_are_not_mapped") {
  const LargeFile file;
  std::span<const std::byte> bytes;
  {
    const MappedFile mapped(file.path);
    bytes = mapped.bytes();
    CHECK_FALSE(is_mapped({bytes.data(), bytes.size() + 1}));
  }
  CHECK_FALSE(drop_pages(bytes));
}

TEST_CASE("private_writes_do_not_reach_the_file") {
  const LargeFile file;
  const MappedFile mapped(file.path);
  REQUIRE(allow_private_writes(mapped.bytes().subspan(100, 4)));
  const_cast<std::byte&>(mapped.bytes()[100]) = std::byte{'b'};  // NOLINT: what the function allows
  CHECK(mapped.bytes()[100] == std::byte{'b'});
  CHECK(read_file(file.path) == std::string(1 << 16, 'a'));
}

}  // namespace
}  // namespace cinnabar::base
