#include "cinnabar/base/path_kind.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"

namespace cinnabar::base {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("cinnabar_path_kind_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

TEST_CASE("only_a_regular_file_is_replaced") {
  const Folder folder;
  const fs::path fifo = folder.path / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(write_file(fifo, "x"), doctest::Contains("this is a FIFO"), Error);
  CHECK(fs::is_fifo(fifo));
  fs::create_directory(folder.path / "sub");
  CHECK_THROWS_WITH_AS(write_file(folder.path / "sub", "x"), doctest::Contains("this is a folder"), Error);
  write_file(folder.path / "file", "old");
  fs::create_symlink("file", folder.path / "link");
  CHECK_THROWS_WITH_AS(write_file(folder.path / "link", "x"), doctest::Contains("symbolic link"), Error);
  write_file(folder.path / "file", "new");
  CHECK(read_file(folder.path / "file") == "new");
}

// As on a node made by mknod, which only root may do.
TEST_CASE("a_device_is_not_replaced") {
  const Folder folder;
  const fs::path device = folder.path / "full";
  if (::mknod(device.c_str(), S_IFCHR | 0600, ::makedev(1, 7)) != 0) return;
  CHECK_THROWS_WITH_AS(write_file(device, "x"), doctest::Contains("this is a device"), Error);
  CHECK(fs::is_character_file(device));
}

TEST_CASE("what_is_read_is_named_as_what_it_is") {
  const Folder folder;
  REQUIRE(::mkfifo((folder.path / "fifo").c_str(), 0600) == 0);
  CHECK(why_no_file(folder.path / "fifo") == "this is a FIFO (named pipe); expected a file");
  CHECK(why_no_file(folder.path) == "this is a folder; expected a file");
  CHECK(why_no_file(folder.path / "nowhere").starts_with("no such file"));
  fs::create_symlink("loop", folder.path / "loop");
  CHECK(why_no_file(folder.path / "loop").find("symbolic links") != std::string::npos);
  CHECK(why_no_file(std::string(300, 'a')).find("too long") != std::string::npos);
}

TEST_CASE("the_limit_of_file_sizes_counts_as_no_space") {
  CHECK(is_no_space(EFBIG));
  CHECK(is_no_space(ENOSPC));
  CHECK(!is_no_space(EIO));
}

}  // namespace
}  // namespace cinnabar::base
