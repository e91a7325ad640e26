// cinnabar-parity DIR [--only GROUP]: compares this build with a folder of reference numbers, element by element.
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string_view>

#include "parity/reporter.h"

namespace cinnabar::parity {

void Reporter::result(const std::string& name, double largest_error, double tolerance, const std::string& note) {
  const bool is_pass = std::isfinite(largest_error) && largest_error <= tolerance;
  ++(is_pass ? passed_ : failed_);
  std::printf("%-6s %-56s error %.3e tolerance %.1e %s\n", is_pass ? "pass" : "FAIL", name.c_str(), largest_error,
              tolerance, note.c_str());
}

void Reporter::fail(const std::string& name, const std::string& why) {
  ++failed_;
  std::printf("%-6s %-56s %s\n", "FAIL", name.c_str(), why.c_str());
}

void Reporter::skip(const std::string& name, const std::string& why) {
  ++skipped_;
  std::printf("%-6s %-56s %s\n", "skip", name.c_str(), why.c_str());
}

base::Registry<Group>& groups() {
  static base::Registry<Group> registry("parity group");
  return registry;
}

namespace {

// `only` may be a folder ("models") or one registered group ("models.vae"); empty runs all.
int run(const std::filesystem::path& root, const std::string& only) {
  Reporter reporter;
  bool is_known = only.empty();
  for (const std::string& name : groups().names()) {
    const std::string folder = name.substr(0, name.find('.'));
    if (!only.empty() && only != name && only != folder) continue;
    is_known = true;
    if (!std::filesystem::is_directory(root / folder)) {
      if (!only.empty()) reporter.fail(name, "no folder " + (root / folder).string());
      continue;
    }
    try {
      groups().at(name)(root / folder, reporter);
    } catch (const std::exception& error) {
      reporter.fail(name, error.what());
    }
    std::fflush(stdout);
  }
  if (only.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      const std::string folder = entry.path().filename().string();
      bool is_built = false;
      for (const std::string& name : groups().names()) is_built = is_built || name.substr(0, name.find('.')) == folder;
      if (entry.is_directory() && !is_built) reporter.skip(folder, "group not built yet");
    }
  }
  if (!is_known) groups().at(only);  // throws the message with the known names
  std::printf("%d passed, %d failed, %d skipped\n", reporter.passed(), reporter.failed(), reporter.skipped());
  return reporter.failed() == 0 && reporter.passed() > 0 ? 0 : 1;
}

}  // namespace
}  // namespace cinnabar::parity

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  const bool has_only = argc == 4 && std::string_view(arguments[2]) == "--only";
  if (argc != 2 && !has_only) {
    std::cerr << "usage: cinnabar-parity DIR [--only GROUP]\n";
    return 2;
  }
  if (!std::filesystem::is_directory(arguments[1])) {
    std::cerr << arguments[1] << ": no such folder; expected one laid out like tests/parity/goldens\n";
    return 2;
  }
  try {
    return cinnabar::parity::run(arguments[1], has_only ? arguments[3] : "");
  } catch (const cinnabar::base::Error& error) {
    std::cerr << error.what() << "\n";
    return cinnabar::base::exit_status(error.code());
  }
}
