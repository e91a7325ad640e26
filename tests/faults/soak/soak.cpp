// cinnabar-soak [--tier T0|T1|T2] [--seed N] [--only NAME] [--rows FILE]: kills, faults of the disk and of the memory,
// torn files, against runs on the embedded model (docs/reliability.md). Exit status 1 when anything failed. With
// --rows, a row of the ledger's table is appended to the file after each test.
#include <sys/prctl.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "faults/soak/tally.h"

namespace {

using namespace cinnabar::soak;

struct Entry {
  const char* name;
  const char* what;  // in the ledger
  Tally (*run)(const Settings&);
};

constexpr Entry kTests[] = {
    {"write_faults", "write faults: every call x error x once or sticky", test_write_faults},
    {"power_loss", "power loss: schedules", test_power_loss},
    {"store_faults", "run store: every call below SQLite x error x once or sticky", test_store_faults},
    {"store_power_loss", "run store: loss of power", test_store_power_loss},
    {"read_faults", "read faults: truncations and flipped bits of states, networks, caches, pictures",
     test_read_faults},
    {"points", "kill at each named point", test_named_points},
    {"double", "double faults: kill of the resumed run", test_double_faults},
    {"signals", "one signal (saves) and two (ends at once)", test_signals},
    {"disk", "vanished folder, limit of file sizes", test_disk},
    {"limits", "real limits: full, small, read-only and missing folders, links, limits of the process",
     test_real_limits},
    {"numbers", "injected NaN, no memory, hang", test_numbers_and_memory},
    {"threads", "loader threads and batches in parts", test_threads_and_parts},
    {"allocations", "failing allocations", test_allocations},
    {"kills", "kill at a random moment", test_random_kills},
    {"equality", "resume at every step", test_resume_equality},
};

struct Arguments {
  Settings settings;
  std::string tier = "T0";
  std::string only;
  std::string rows;
};

bool parse(const std::vector<std::string>& words, Arguments& result) {
  for (size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return false;
    const std::string& value = words[i + 1];
    if (words[i] == "--tier" && (value == "T0" || value == "T1" || value == "T2")) {
      result.tier = value;
      result.settings.tier = value == "T0" ? Tier::T0 : value == "T1" ? Tier::T1 : Tier::T2;
    } else if (words[i] == "--seed") {
      result.settings.seed = std::stoull(value);
    } else if (words[i] == "--only") {
      result.only = value;
    } else if (words[i] == "--rows") {
      result.rows = value;
    } else {
      return false;
    }
  }
  return true;
}

std::string numbers_text(const Tally& tally) {
  std::string text;
  for (const auto& [name, value] : tally.numbers)
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(value);
  return text;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  Arguments words;
  if (!parse({arguments + 1, arguments + count}, words)) {
    std::cerr << "usage: cinnabar-soak [--tier T0|T1|T2] [--seed N] [--only NAME] [--rows FILE]\nnames:";
    for (const Entry& test : kTests) std::cerr << " " << test.name;
    std::cerr << "\n";
    return 2;
  }
  // Engines whose starter was killed become ours, so that their end can be waited for.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  at::set_num_threads(1);
  bool has_failed = false;
  for (const Entry& test : kTests) {
    if (!words.only.empty() && words.only != test.name) continue;
    const auto begin = std::chrono::steady_clock::now();
    Tally tally;
    try {
      tally = test.run(words.settings);
    } catch (const std::exception& error) {
      tally.fail(std::string("the test itself: ") + error.what());
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    has_failed = has_failed || !tally.failures.empty();
    const std::string row = "| " + today() + " | " + words.tier + " | " + test.what + " | " +
                            std::to_string(tally.rounds) + " | " + std::to_string(tally.failures.size()) + " | " +
                            std::to_string(seconds.count()) + " s | " + numbers_text(tally) + " |";
    std::cout << row << std::endl;
    if (!words.rows.empty()) std::ofstream(words.rows, std::ios::app) << row << "\n";
  }
  return has_failed ? 1 : 0;
}
