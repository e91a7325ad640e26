#include "cinnabar/jobs/run_record.h"

#include <doctest/doctest.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/process.h"
#include "formats/temporary_folder.h"
#include "jobs/run_fixture.h"

namespace cinnabar::jobs {

namespace {

TEST_CASE("this_process_is_alive_and_its_number_alone_does_not_count") {
  const ProcessIdentity self = this_process();
  CHECK(self.pid > 0);
  CHECK(self.started > 0);
  CHECK_FALSE(self.boot.empty());
  CHECK(liveness(self) == Liveness::Alive);
  CHECK(liveness(gone_process()) == Liveness::Gone);
  ProcessIdentity before_boot = self;
  before_boot.boot = "another start of the system";
  CHECK(liveness(before_boot) == Liveness::Gone);
  ProcessIdentity elsewhere = self;
  elsewhere.host += "-other";
  CHECK(liveness(elsewhere) == Liveness::Unknown);
  ProcessIdentity in_container = self;
  in_container.pid_space = "pid:[1]";
  CHECK(liveness(in_container) == Liveness::Unknown);
  CHECK(liveness({}) == Liveness::Unknown);
}

TEST_CASE("a_process_that_ended_is_gone_even_before_it_is_reaped") {
  base::Process child({.program = "/bin/true"});
  ProcessIdentity process = this_process();
  process.pid = child.id();
  child.wait();
  CHECK(liveness(process) == Liveness::Gone);
}

TEST_CASE("a_record_reads_back_as_it_was_written") {
  const formats::TemporaryFolder folder;
  const auto path =
      make_run(folder / "w", {.state = "failed", .process = this_process(), .name = "dög", .parent = "abc"});
  const RunRecord record = read_record(path);
  CHECK(record.id == run_id("20260102-030405-dog"));
  CHECK(record.id.size() == 16);
  CHECK(record.name == "dög");
  CHECK(record.state == "failed");
  CHECK(record.started == 1000.0);
  CHECK(record.ended == 1060.0);
  CHECK(record.exit_status == 1);
  CHECK(record.parent == "abc");
  CHECK(record.record_version == kRecordVersion);
  CHECK(record.process == this_process());
  const RecordedConfig config = read_recorded_config(path);
  CHECK(config.toml == "network_dim = 8\n");
  REQUIRE(config.values.size() == 2);
  CHECK(config.values[0] == std::pair<std::string, std::string>("network_dim", "8"));
  CHECK(config.values[1].second == "\"dog\"");
}

TEST_CASE("records_of_other_versions_and_torn_ones_are_read_as_far_as_they_go") {
  const formats::TemporaryFolder folder;
  const auto path = make_run(folder / "w", {});
  base::write_file(path / "run.json", R"({"command": "train", "state": "done", "exit_status": 0})");
  RunRecord record = read_record(path);
  CHECK(record.record_version == 0);
  CHECK(record.name == "dog");
  CHECK(record.started.has_value());
  CHECK(record.ended.has_value());
  base::write_file(path / "run.json", R"({"record": 99, "state": "pondering", "started": "soon", "process": [1]})");
  record = read_record(path);
  CHECK(record.record_version == 99);
  CHECK(record.state == "pondering");
  CHECK(record.command == "train");
  CHECK(record.process == ProcessIdentity{});
  for (const char* torn : {"", "{\"record\": 2, \"sta", "[]", "\xff\xfe", "null"}) {
    base::write_file(path / "run.json", torn);
    record = read_record(path);
    CHECK(record.id == run_id("20260102-030405-dog"));
    CHECK(record.state == "running");
    CHECK(record.command == "train");
  }
}

TEST_CASE("secrets_and_nested_values_are_not_taken_from_a_configuration") {
  const formats::TemporaryFolder folder;
  const auto path = make_run(folder / "w", {});
  base::write_file(path / "config.json",
                   R"({"values": {"huggingface_token": "t", "a": [1, [2]], "b": {}, "c": [1, 2]}})");
  const RecordedConfig config = read_recorded_config(path);
  REQUIRE(config.values.size() == 1);
  CHECK(config.values[0] == std::pair<std::string, std::string>("c", "[1,2]"));
}

TEST_CASE("names_are_one_line_of_text") {
  const formats::TemporaryFolder folder;
  const auto path = make_run(folder / "w", {.name = "before"});
  write_run_name(path, "nach her");
  CHECK(read_record(path).name == "nach her");
  for (const std::string& bad :
       {std::string(), std::string("a\nb"), std::string("\x1b[2J"), std::string(201, 'a'), std::string("\xff")}) {
    CHECK_THROWS_AS(write_run_name(path, bad), base::Error);
  }
  CHECK(read_record(path).name == "nach her");
}

}  // namespace

}  // namespace cinnabar::jobs
