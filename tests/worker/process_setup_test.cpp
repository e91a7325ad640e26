#include "cinnabar/worker/process_setup.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "cinnabar/base/process.h"

namespace cinnabar::worker {

namespace {

constexpr std::chrono::milliseconds kShort(20);

void tell(const base::Pipe& pipe, char word) {
  [[maybe_unused]] const ssize_t count = ::write(pipe.write.get(), &word, 1);
}

// An engine that needs a while to save: "r" ready, "s" saved.
[[noreturn]] void be_engine(const base::Pipe& pipe) {
  const std::atomic<bool>& stop = set_up_process();
  tell(pipe, 'r');
  while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(5 * kShort);
  tell(pipe, 's');
  ::_exit(0);
}

std::string all_of(base::Pipe& pipe) {
  pipe.write.close();
  std::string words;
  for (char word = 0; ::read(pipe.read.get(), &word, 1) == 1;) words += word;
  return words;
}

TEST_CASE("the_end_of_a_starter_with_several_threads_lets_the_engine_save") {
  base::Pipe pipe = base::make_pipe();
  const pid_t starter = ::fork();
  REQUIRE(starter >= 0);
  if (starter == 0) {
    if (::fork() == 0) be_engine(pipe);
    char word = 0;
    [[maybe_unused]] const ssize_t count = ::read(pipe.read.get(), &word, 1);
    tell(pipe, word);
    // The thread that started the engine ends first, the rest of the program a little later: two signals.
    std::thread([] {
      std::this_thread::sleep_for(kShort);
      ::_exit(0);
    }).detach();
    ::syscall(SYS_exit, 0);  // this thread alone
  }
  ::waitpid(starter, nullptr, 0);
  CHECK(all_of(pipe) == "rs");
}

TEST_CASE("a_second_signal_of_a_living_starter_ends_the_engine_at_once") {
  base::Pipe pipe = base::make_pipe();
  const pid_t engine = ::fork();
  REQUIRE(engine >= 0);
  if (engine == 0) be_engine(pipe);
  char word = 0;
  REQUIRE(::read(pipe.read.get(), &word, 1) == 1);
  ::kill(engine, SIGTERM);
  std::this_thread::sleep_for(kShort);
  ::kill(engine, SIGTERM);
  int status = 0;
  ::waitpid(engine, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(all_of(pipe).empty());
}

}  // namespace

}  // namespace cinnabar::worker
