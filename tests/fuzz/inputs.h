// Where the inputs of the targets lie.
#pragma once

#include <filesystem>

#include "fuzz/mutation.h"

namespace cinnabar::fuzz {

struct NamedInput {
  std::filesystem::path path;
  Bytes bytes;
};

// The files of a folder in order of their names; none when there is no such folder.
std::vector<NamedInput> read_inputs(const std::filesystem::path& folder);
// From tests/corpus/make_corpus.py.
std::vector<NamedInput> seeds_of(const Target& target);
// Inputs that once showed a fault.
std::vector<NamedInput> kept_findings_of(const Target& target);
// Of tests/fuzz/dictionaries.
std::vector<Bytes> dictionary_of(const Target& target);

}  // namespace cinnabar::fuzz
