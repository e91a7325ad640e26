#include "cinnabar/train/lossy_board.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cerrno>

#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "formats/temporary_folder.h"

using namespace cinnabar;

namespace {

// A disk that is full while `is_full`.
class FullDisk : public base::FileCalls {
 public:
  ssize_t write(int fd, const void* data, size_t size) override {
    if (!is_full) return FileCalls::write(fd, data, size);
    errno = ENOSPC;
    return -1;
  }
  bool is_full = false;
};

}  // namespace

TEST_CASE("records are lost with one warning while the disk is full, and go on in a new file") {
  const formats::TemporaryFolder folder;
  base::RecordedEvents events;
  FullDisk disk;
  const base::FileCallsGuard guard(disk);
  train::LossyBoard board(folder / "logs", events, 0.0);
  board.scalar("loss/current", 1, 0.5F);
  disk.is_full = true;
  for (int step = 2; step < 6; ++step) board.scalar("loss/current", step, 0.5F);
  board.flush();
  REQUIRE(events.lines().size() == 1);
  CHECK(events.lines()[0].find("records of this run are lost") != std::string::npos);
  CHECK(events.lines()[0].find("No space left") != std::string::npos);
  disk.is_full = false;
  board.scalar("loss/current", 6, 0.5F);
  board.flush();
  CHECK(events.lines().size() == 2);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder / "logs")) ++files;
  CHECK(files == 2);
}

TEST_CASE("a log that cannot be begun is an error at the start") {
  const formats::TemporaryFolder folder;
  base::SilentEvents events;
  FullDisk disk;
  disk.is_full = true;
  const base::FileCallsGuard guard(disk);
  CHECK_THROWS_AS(train::LossyBoard(folder / "logs", events), base::Error);
}
