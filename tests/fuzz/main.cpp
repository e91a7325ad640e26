// cinnabar-fuzz TARGET [--seconds S] [--runs N] [--seed K] [FILE...]: the mutation loop for compilers without
// libFuzzer. It knows nothing of coverage, so its executions are counted apart (docs/reliability.md). With files: these
// alone.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "fuzz/inputs.h"

namespace cinnabar::fuzz {

namespace {

// What runs now, for the handler of a fault.
const Bytes* current = nullptr;

// Only calls that a signal handler may make.
void keep_input(int signal) {
  const int fd = ::creat("cinnabar-fuzz-finding", 0644);
  if (fd >= 0 && current != nullptr) {
    [[maybe_unused]] const ssize_t written = ::write(fd, current->data(), current->size());
  }
  constexpr char kText[] = "\ncinnabar-fuzz: the input is in cinnabar-fuzz-finding\n";
  [[maybe_unused]] const ssize_t told = ::write(2, kText, sizeof kText - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Options {
  std::string target;
  double seconds = 60;
  uint64_t runs = UINT64_MAX;
  uint64_t seed = 1;
  std::vector<std::string> files;
};

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return i + 1 < count ? std::string(words[++i]) : std::string("0"); };
    if (word == "--seconds") {
      options.seconds = std::stod(value());
    } else if (word == "--runs") {
      options.runs = std::stoull(value());
    } else if (word == "--seed") {
      options.seed = std::stoull(value());
    } else if (options.target.empty()) {
      options.target = word;
    } else {
      options.files.push_back(word);
    }
  }
  return options;
}

void run_one(const Target& target, const Bytes& input) {
  current = &input;
  ::alarm(10);  // longer than any input may take, on a busy machine, too
  try {
    run_input(target, input);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    std::abort();
  }
  ::alarm(0);
}

void run_files(const Target& target, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(content));
    run_one(target, {bytes.begin(), bytes.end()});
  }
  std::cout << target.name << ": " << files.size() << " files\n";
}

void run_changes(const Target& target, const Options& options) {
  std::vector<NamedInput> seeds = seeds_of(target);
  for (NamedInput& kept : kept_findings_of(target)) seeds.push_back(std::move(kept));
  if (seeds.empty()) throw std::runtime_error("no seeds: build the target cinnabar_corpus first");
  Mutator mutator(options.seed, dictionary_of(target), target.max_bytes);
  std::mt19937_64 random(options.seed);
  const auto start = std::chrono::steady_clock::now();
  const auto passed_s = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  uint64_t runs = 0;
  while (runs < options.runs && (runs % 256 != 0 || passed_s() < options.seconds)) {
    const Bytes input = mutator.changed(seeds[random() % seeds.size()].bytes, seeds[random() % seeds.size()].bytes);
    run_one(target, input);
    ++runs;
  }
  std::cout << target.name << ": " << runs << " executions in " << passed_s() << " s\n";
}

}  // namespace

}  // namespace cinnabar::fuzz

int main(int count, char** words) {
  using namespace cinnabar::fuzz;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(signal, keep_input);
  try {
    const Options options = read_options(count, words);
    const Target& chosen = target(options.target);
    if (options.files.empty()) {
      run_changes(chosen, options);
    } else {
      run_files(chosen, options.files);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "cinnabar-fuzz: " << error.what() << "\n";
    return 2;
  }
}
