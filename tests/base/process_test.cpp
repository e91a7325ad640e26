#include "cinnabar/base/process.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "cinnabar/base/error.h"

namespace cinnabar::base {

namespace {

std::string read_all(Descriptor& source) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(source.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

// What a shell command prints, with these variables alone.
std::string output_of(const std::string& script, const std::vector<std::string>& environment = {}) {
  Pipe pipe = make_pipe();
  Process shell({.program = "/bin/sh",
                 .arguments = {"-c", script},
                 .environment = environment,
                 .descriptors = {{pipe.write.get(), 1}}});
  pipe.write.close();
  const std::string text = read_all(pipe.read);
  shell.wait();
  return text;
}

TEST_CASE("passes_arguments_as_they_are") {
  Pipe pipe = make_pipe();
  Process echo({.program = "/bin/echo", .arguments = {"a b", "$HOME", "; ls"}, .descriptors = {{pipe.write.get(), 1}}});
  pipe.write.close();
  CHECK(read_all(pipe.read) == "a b $HOME ; ls\n");
  CHECK(echo.wait().code == 0);
}

TEST_CASE("a_child_has_only_the_given_environment") {
  ::setenv("CINNABAR_TEST_SECRET", "hidden", 1);
  CHECK(output_of("echo \"[$CINNABAR_TEST_SECRET][$GIVEN]\"", {"GIVEN=yes"}) == "[][yes]\n");
}

TEST_CASE("a_child_has_no_other_descriptors") {
  const Pipe leak = make_pipe();
  CHECK(output_of("ls /proc/self/fd | wc -l") == "4\n");  // 0, 1, 2 and the folder that ls reads
}

TEST_CASE("a_descriptor_arrives_under_its_number") {
  Pipe pipe = make_pipe();
  Process shell({.program = "/bin/sh", .arguments = {"-c", "echo event >&3"}, .descriptors = {{pipe.write.get(), 3}}});
  pipe.write.close();
  CHECK(read_all(pipe.read) == "event\n");
  shell.wait();
}

TEST_CASE("tells_exit_codes_and_signals_apart") {
  Process exits({.program = "/bin/sh", .arguments = {"-c", "exit 7"}});
  CHECK(exits.wait().code == 7);
  Process sleeps({.program = "/bin/sleep", .arguments = {"60"}});
  CHECK_FALSE(sleeps.poll().has_value());
  sleeps.send_signal(SIGTERM);
  const ExitStatus status = sleeps.wait();
  CHECK(status.signal == SIGTERM);
  CHECK_FALSE(status.code.has_value());
}

TEST_CASE("a_missing_program_is_an_error_with_its_path") {
  CHECK_THROWS_WITH_AS(Process({.program = "/nowhere/program"}), doctest::Contains("/nowhere/program"), Error);
}

TEST_CASE("selected_environment_never_has_code_by_environment") {
  ::unsetenv("OMP_WAIT_POLICY");
  ::setenv("LD_PRELOAD_TEST", "x", 1);
  ::setenv("PYTHONPATH", "x", 1);
  ::setenv("OMP_NUM_THREADS", "2", 1);
  ::setenv("OMP_OTHER", "y", 1);
  const std::vector<std::string> selected = selected_environment({"LD_*", "LD_PRELOAD_TEST", "PYTHON*", "OMP_*"});
  CHECK(selected.size() == 2);
}

}  // namespace

}  // namespace cinnabar::base
