#include "cinnabar/jobs/self_test.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <vector>

#include "formats/temporary_folder.h"

namespace cinnabar::jobs {

namespace {

namespace fs = std::filesystem;

// An engine that is a shell script; descriptor 3 takes events.
struct ScriptedEngine {
  explicit ScriptedEngine(const std::string& script) {
    const fs::path worker = folder.put("worker", "#!/bin/sh\n" + script);
    fs::permissions(worker, fs::perms::owner_all);
    fs::create_directories(folder / "torch" / "lib");
    engine = {.worker = worker, .torch = folder / "torch"};
  }
  formats::TemporaryFolder folder;
  Engine engine;
  std::vector<std::string> begun;

  hardware::SelfTestReport run(const std::string& device = "auto") {
    return run_self_test(engine, device, [this](const std::string& what) { begun.push_back(what); });
  }
};

const std::string kPhase = R"(echo '{"type":"phase","text":"convolution fp16"}' >&3
)";

TEST_CASE("rows of the engine come into the report, and what begins is told") {
  ScriptedEngine good(
      R"(grep -q '"device":"gpu:1"' "$3" || exit 9
echo '{"type":"self_test","device":"gpu:1","libtorch":"2.13.0","attention":"fused"}' >&3
)" + kPhase +
      R"(echo '{"type":"self_test","name":"convolution","format":"fp16","is_good":true,"error":1e-4,"limit":0.01,"first_ms":2.0,"ms":1.0}' >&3
)");
  const hardware::SelfTestReport report = good.run("gpu:1");
  CHECK(report.problem == "");
  CHECK(report.is_good());
  CHECK(report.device == "gpu:1");
  REQUIRE(report.rows.size() == 1);
  CHECK(good.begun == std::vector<std::string>{"convolution fp16"});
}

TEST_CASE("a kernel that crashes the engine is named, with what is known of such a crash") {
  ScriptedEngine bad(
      kPhase +
      R"(echo 'Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7f. Reason: Page not present.' >&2
kill -ABRT $$
)");
  const hardware::SelfTestReport report = bad.run();
  CHECK_FALSE(report.is_good());
  CHECK(report.problem.find("crashed in convolution fp16") != std::string::npos);
  CHECK(report.problem.find("touched memory that is not its own") != std::string::npos);
}

TEST_CASE("an engine that gives up says why, or its last words are shown") {
  ScriptedEngine error(R"(echo '{"type":"error","code":"Device","text":"there is no GPU"}' >&3
exit 70
)");
  CHECK(error.run().problem == "there is no GPU");
  ScriptedEngine silent("echo 'something odd' >&2\nexit 3\n");
  CHECK(silent.run().problem == "the engine ended while it started. Its last words: something odd");
}

}  // namespace

}  // namespace cinnabar::jobs
