#include "cinnabar/hardware/recording.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cinnabar/base/error.h"
#include "cinnabar/hardware/anonymise.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/report.h"
#include "cinnabar/hardware/system_sources.h"
#include "formats/temporary_folder.h"
#include "hardware/changed_machine.h"

namespace cinnabar::hardware {

namespace {

namespace fs = std::filesystem;

std::string all_text_below(const fs::path& folder) {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    all += entry.path().string() + "\n" + text.str();
  }
  return all;
}

TEST_CASE("a_recording_is_replayed_to_the_same_report") {
  // One of each kind; every file is written out to the disk, which takes its time.
  for (const std::string name : {"wsl-rx7900xt", "rx7900xt-no-driver", "nvidia-rtx4090", "container-no-devices"}) {
    CAPTURE(name);
    const formats::TemporaryFolder folder;
    const Sources sources = fixture(name);
    const Machine machine = detect(sources);
    save_recording(sources, machine, folder / "r");
    const Machine again = detect(load_recording(folder / "r"));
    CHECK(report_json(again, true) == report_json(machine, true));
    CHECK(report_text(again) == report_text(machine));
  }
}

TEST_CASE("nothing_in_a_recording_says_whose_machine_it_was") {
  const formats::TemporaryFolder folder;
  Sources sources = fixture("kfd-permission-denied");
  REQUIRE(sources.user.name == "trainer");
  sources.user.groups = {"trainer", "render", "secretproject"};
  sources.environment["LD_LIBRARY_PATH"] = "/hidden/anna/lib";
  sources.environment["MIOPEN_USER_DB_PATH"] = "/hidden/anna/db";
  sources.commands["rocminfo"].output += "  Uuid:                    GPU-5e1f00d501544500\n";
  sources.commands["amd-smi static --json"] = {
      .output = R"([{"gpu": 0, "uuid": "2f007480-0000-1000-8000-abc000000b00"}])", .exit = 0};
  save_recording(sources, detect(sources), folder / "r");
  const std::string all = all_text_below(folder / "r");
  for (const char* secret : {"trainer", "secretproject", "anna", "5e1f00d501544500", "2f007480", "unique_id",
                             "00000000-1111-2222-3333-444444444444"}) {
    CAPTURE(secret);
    CHECK(all.find(secret) == std::string::npos);
  }
}

// What tells whose machine it is: names, paths, serial numbers, as far as this user may read them.
std::vector<std::string> secrets_of_this_machine() {
  std::vector<std::string> secrets;
  const auto add = [&](std::string text) {
    text = text.substr(0, text.find('\n'));
    // "root" is a folder of every recording, and placeholders of boards say nothing.
    const bool is_telling = text.size() >= 5 && text != "/root" && text != "localhost" &&
                            !text.starts_with("To be f") && !text.starts_with("Default") && !text.starts_with("Not ");
    if (is_telling) secrets.push_back(text);
  };
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) add(host.data());
  for (const char* name : {"HOME", "USER", "LOGNAME", "PWD"}) {
    if (const char* value = std::getenv(name); value != nullptr) add(value);
  }
  for (const char* file : {"/etc/machine-id", "/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/product_uuid",
                           "/sys/class/dmi/id/board_serial", "/sys/class/dmi/id/chassis_serial"}) {
    std::string line;
    if (std::ifstream stream(file); std::getline(stream, line)) add(line);
  }
  return secrets;
}

TEST_CASE("this_machine_is_recorded_and_replayed_to_the_same_report_without_a_word_of_whose_it_is") {
  const formats::TemporaryFolder folder;
  const Libtorch torch{.is_present = true, .version = "2.13.0+cpu"};
  const Sources sources = system_sources(torch, true);
  const Machine machine = detect(sources);
  save_recording(sources, machine, folder / "r");
  const Machine again = detect(load_recording(folder / "r"));
  CHECK(report_json(again, true) == report_json(machine, true));
  CHECK(report_text(again) == report_text(machine));
  // The path of the temporary folder stands before each file's text.
  std::string all = all_text_below(folder / "r");
  const std::string own = (folder / "r").string();
  for (size_t at = all.find(own); at != std::string::npos; at = all.find(own)) all.erase(at, own.size());
  for (const std::string& secret : secrets_of_this_machine()) {
    CAPTURE(secret);
    CHECK(all.find(secret) == std::string::npos);
  }
}

TEST_CASE("a_folder_with_content_is_not_written_into") {
  const formats::TemporaryFolder folder;
  folder.put("r/file", "x");
  const Sources sources = fixture("no-gpu");
  CHECK_THROWS_AS(save_recording(sources, detect(sources), folder / "r"), base::Error);
}

TEST_CASE("faults_of_a_recording_are_told") {
  const formats::TemporaryFolder folder;
  const auto message = [&](const std::string& name) {
    try {
      load_recording(folder / name);
    } catch (const base::Error& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK(message("none").find("expected a folder with machine.json") != std::string::npos);
  folder.put("a/machine.json", "[1");
  CHECK(message("a").find("expected a JSON object") != std::string::npos);
  folder.put("b/machine.json", R"({"commands": {"rocminfo": {"stdout": "../secret", "exit": 0}}})");
  CHECK(message("b").find("must be a file beside it") != std::string::npos);
  folder.put("c/machine.json", R"({"commands": {"rocminfo": {"stdout": "missing.txt", "exit": 0}}})");
  CHECK(message("c").find("missing.txt") != std::string::npos);
  folder.put("d/machine.json", R"({"env": 5, "devices": [], "user": null, "libtorch": null})");
  CHECK(broken_invariant(detect(load_recording(folder / "d"))) == "");
}

TEST_CASE("names_are_taken_out_as_whole_words") {
  const Anonymiser hide({"anna", "my-host", "x"});
  CHECK(hide.text("anna at my-host: savannah /anna/") == "someone at someone: savannah /someone/");
  CHECK(hide.text("serial 5E1F00D501544500 of 8573157376 bytes") == "serial 0000000000000000 of 8573157376 bytes");
  CHECK(hide.variable("/opt/rocm") == "/opt/rocm");
  CHECK(hide.variable("expandable_segments:True") == "expandable_segments:True");
  CHECK(hide.file("/proc/cmdline", "root=UUID=1 iommu=pt user=anna") == "iommu=pt\n");
}

}  // namespace

}  // namespace cinnabar::hardware
