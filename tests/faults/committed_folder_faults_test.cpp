#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <limits>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "faults/fault_calls.h"
#include "faults/power_loss.h"
#include "faults/soak/scratch.h"

namespace fs = std::filesystem;
using namespace cinnabar;

namespace {

using soak::Scratch;

void save(const fs::path& target, const std::string& text) {
  base::FolderWriter writer(target);
  base::write_file(writer.file("weights"), text + std::string(300, 'w'));
  base::write_file(writer.file("state"), text);
  writer.commit("test", 1);
}

// Without waiting for the disk.
void save_quickly(const fs::path& target, const std::string& text) {
  faults::FaultCalls calls({.at = std::numeric_limits<int64_t>::max()});
  const base::FileCallsGuard guard(calls);
  save(target, text);
}

std::string saved_text(const fs::path& target) {
  base::verify_folder(target);
  return base::read_file(target / "state");
}

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("every failing call of a save leaves the older folder whole and nothing half written") {
  struct Kind {
    faults::Fault fault;
    std::vector<int> errors;
  };
  const std::array<Kind, 6> kinds{{{faults::Fault::Open, {EACCES, EMFILE, EROFS, ENOSPC}},
                                   {faults::Fault::Write, {ENOSPC, EIO, EDQUOT}},
                                   {faults::Fault::Sync, {EIO, ENOSPC}},
                                   {faults::Fault::Close, {EIO, EDQUOT}},
                                   {faults::Fault::Rename, {EIO, EACCES, EROFS, ENOSPC}},
                                   {faults::Fault::MakeFolder, {ENOSPC, EACCES, EROFS}}}};
  int64_t pairs = 0;
  for (const Kind& kind : kinds) {
    for (const int error : kind.errors) {
      for (const bool is_sticky : {false, true}) {
        for (int64_t at = 0;; ++at) {
          const Scratch scratch;
          const fs::path target = scratch.path() / "step-2";
          save_quickly(target, "old");
          faults::FaultCalls calls({.fault = kind.fault, .error = error, .at = at, .is_sticky = is_sticky});
          bool is_refused = false;
          {
            const base::FileCallsGuard guard(calls);
            try {
              save(target, "new");
            } catch (const base::Error& problem) {
              is_refused = true;
              const bool is_full = error == ENOSPC || error == EDQUOT;
              CHECK(problem.code() == (is_full ? base::ErrorCode::OutOfSpace : base::ErrorCode::Io));
              CHECK(problem.message().find("step-2") != std::string::npos);
            }
          }
          if (!calls.has_failed()) break;
          ++pairs;
          const std::string text = saved_text(target);
          CAPTURE(at);
          CAPTURE(error);
          CHECK((text == "old" || text == "new"));
          if (!is_refused) CHECK(text == "new");
          // What the failing calls could not remove is removed at the next start.
          base::remove_leftovers(scratch.path());
          CHECK(entries(scratch.path()) == 1);
        }
      }
    }
  }
  CHECK(pairs > 150);
}

TEST_CASE("short writes and interrupted calls are gone on with") {
  for (int64_t at = 0; at < 12; ++at) {
    const Scratch scratch;
    faults::FaultCalls calls({.fault = faults::Fault::ShortWrite, .at = at, .is_sticky = true});
    {
      const base::FileCallsGuard guard(calls);
      save(scratch.path() / "s", "text");
    }
    CHECK(saved_text(scratch.path() / "s") == "text");
  }
  const Scratch scratch;
  faults::FaultCalls calls({.fault = faults::Fault::Write, .error = EINTR, .at = 1});
  const base::FileCallsGuard guard(calls);
  base::write_file(scratch.path() / "a", "x");
  CHECK_NOTHROW(base::write_file(scratch.path() / "b", "y"));
  CHECK(calls.has_failed());
}

TEST_CASE("after a loss of power at any call, what was said to be saved is there and whole") {
  const Scratch scratch;
  const fs::path root = scratch.path() / "disk";
  fs::create_directory(root);
  faults::PowerLossCalls calls(root);
  std::mt19937 random(7);
  int64_t schedules = 0;
  int claimed = 0;  // folders whose commit has returned
  calls.after_call = [&] {
    for (const faults::Loss loss :
         {faults::Loss::Data, faults::Loss::Names, faults::Loss::Both, faults::Loss::Random, faults::Loss::Random}) {
      const fs::path found = scratch.path() / ("after-" + std::to_string(schedules++));
      calls.lay_out(found, loss, random);
      base::remove_leftovers(found);
      for (int i = 1; i <= claimed; ++i) CHECK(saved_text(found / ("step-" + std::to_string(i))) != "");
      // The one that is being written is absent or whole: never torn under its final name.
      const fs::path next = found / ("step-" + std::to_string(claimed + 1));
      if (fs::exists(next)) CHECK_NOTHROW(base::verify_folder(next));
      fs::remove_all(found);
    }
  };
  {
    const base::FileCallsGuard guard(calls);
    for (claimed = 0; claimed < 3; ++claimed) save(root / ("step-" + std::to_string(claimed + 1)), "some text");
    // The same folder once more: replaced at once.
    const int all = claimed;
    save(root / "step-2", "other text");
    claimed = all;
  }
  CHECK(schedules > 300);
}

TEST_CASE("the model of power loss does lose what is not synced") {
  const Scratch scratch;
  const fs::path root = scratch.path() / "disk";
  fs::create_directory(root);
  faults::PowerLossCalls calls(root);
  std::mt19937 random(1);
  const base::FileCallsGuard guard(calls);
  const int fd = base::file_calls().open(root / "plain", O_WRONLY | O_CREAT, 0644);
  REQUIRE(base::write_all(fd, std::as_bytes(std::span("text", 4))));
  calls.lay_out(scratch.path() / "names", faults::Loss::Names, random);
  CHECK(!fs::exists(scratch.path() / "names/plain"));
  calls.lay_out(scratch.path() / "data", faults::Loss::Data, random);
  CHECK(base::read_file(scratch.path() / "data/plain").empty());
  base::file_calls().sync(fd);
  base::sync_folder(root);
  calls.lay_out(scratch.path() / "both", faults::Loss::Both, random);
  CHECK(base::read_file(scratch.path() / "both/plain") == "text");
  base::file_calls().close(fd);
}

TEST_CASE("a torn, missing or changed file of a folder is named") {
  const Scratch scratch;
  const fs::path target = scratch.path() / "s";
  const auto message = [&] {
    try {
      base::verify_folder(target);
    } catch (const base::Error& error) {
      return error.message();
    }
    return std::string();
  };
  save(target, "abc");
  CHECK(message().empty());
  fs::resize_file(target / "weights", 10);
  CHECK(message().find("weights has 10 bytes; the manifest says 303") != std::string::npos);
  save(target, "abc");
  std::ofstream(target / "state", std::ios::binary) << "abd";
  CHECK(message().find("state is not what was written") != std::string::npos);
  fs::remove(target / "state");
  CHECK(message().find("state is missing") != std::string::npos);
  std::ofstream(target / "manifest.json") << "{\"kind\":";
  CHECK(message().find("is not a manifest") != std::string::npos);
  fs::remove(target / "manifest.json");
  CHECK(message().find("manifest.json") != std::string::npos);
}

TEST_CASE("leftovers of living processes stay") {
  const Scratch scratch;
  const fs::path dead = scratch.path() / ".committing-999999999-0-a";
  const fs::path living = scratch.path() / (".committing-" + std::to_string(::getppid()) + "-0-b");
  fs::create_directory(dead);
  fs::create_directory(living);
  std::ofstream(dead / "x") << "x";
  const fs::path file = scratch.path() / ".lora.safetensors.999999999-3.tmp";
  std::ofstream(file) << "half";
  std::ofstream(scratch.path() / ".mine.tmp") << "not ours";
  const auto removed = base::remove_leftovers(scratch.path());
  CHECK(removed == std::vector<fs::path>{dead, file});
  CHECK(fs::exists(living));
  CHECK(fs::exists(scratch.path() / ".mine.tmp"));
}

TEST_CASE("what was not written by this program is never replaced or emptied") {
  const Scratch scratch;
  fs::create_directory(scratch.path() / "precious");
  std::ofstream(scratch.path() / "precious/file") << "mine";
  fs::create_directory_symlink("precious", scratch.path() / "a-state");
  std::ofstream(scratch.path() / "b-state") << "a file";
  for (const char* name : {"precious", "a-state", "b-state"}) {
    try {
      save(scratch.path() / name, "new");
      FAIL("not refused");
    } catch (const base::Error& error) {
      CHECK(error.code() == base::ErrorCode::Denied);
      CHECK(error.message().find("is left alone") != std::string::npos);
    }
  }
  CHECK(base::read_file(scratch.path() / "precious/file") == "mine");
  CHECK(fs::is_symlink(scratch.path() / "a-state"));
  CHECK(entries(scratch.path()) == 3);
  fs::create_directory(scratch.path() / "empty-state");
  save(scratch.path() / "empty-state", "text");
  CHECK(saved_text(scratch.path() / "empty-state") == "text");
  // A link among the leftovers is removed, not what it points to.
  fs::create_directory_symlink("precious", scratch.path() / ".committing-999999999-0-x");
  base::remove_leftovers(scratch.path());
  CHECK(base::read_file(scratch.path() / "precious/file") == "mine");
}
