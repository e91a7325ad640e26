#include "fuzz/inputs.h"

#include <algorithm>
#include <map>

#include "cinnabar/base/atomic_file.h"

namespace cinnabar::fuzz {

namespace fs = std::filesystem;

namespace {

const fs::path kSource = fs::path(CINNABAR_TESTS_DIR) / "fuzz";

}  // namespace

std::vector<NamedInput> read_inputs(const fs::path& folder) {
  std::vector<NamedInput> inputs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string content = base::read_file(entry.path());
    const auto bytes = std::as_bytes(std::span(content));
    inputs.push_back({entry.path(), {bytes.begin(), bytes.end()}});
  }
  std::ranges::sort(inputs, {}, &NamedInput::path);
  return inputs;
}

std::vector<NamedInput> seeds_of(const Target& target) {
  return read_inputs(fs::path(CINNABAR_CORPUS) / "seeds" / target.name);
}

std::vector<NamedInput> kept_findings_of(const Target& target) {
  return read_inputs(kSource / "regressions" / target.name);
}

std::vector<Bytes> dictionary_of(const Target& target) {
  static const std::map<std::string, std::vector<std::string>, std::less<>> kShared = {
      {"torch_file", {"pickle", "zip"}}, {"npz", {"npy", "zip"}},       {"record", {"json"}},
      {"config", {"toml", "json"}},      {"dataset", {"toml", "json"}}, {"prompts", {"prompt", "toml", "json"}}};
  const auto shared = kShared.find(target.name);
  std::vector<Bytes> words;
  for (const std::string& name : shared == kShared.end() ? std::vector{target.name} : shared->second) {
    for (Bytes& word : words_of(base::read_file(kSource / "dictionaries" / (name + ".dict")))) {
      words.push_back(std::move(word));
    }
  }
  return words;
}

}  // namespace cinnabar::fuzz
