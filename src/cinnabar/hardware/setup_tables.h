// The tables of tools/setup that scripts and program share: where libtorch comes from, and which chips its builds
// cover.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

struct TorchSource {
  std::string build;    // cpu, rocm, cuda
  std::string version;  // "2.13.0+rocm*"
  std::string kind;     // index, links, pip
  std::string address;  // empty for pip
};

struct RocmBuild {
  std::string rocm;  // "7.2"
  std::vector<std::string> chips;
};

struct RocmTable {
  std::vector<RocmBuild> wheels{};
  std::vector<RocmBuild> devices{};
  std::map<std::string, Version> oldest_driver{};  // by ROCm
  std::map<std::string, Version> first_kernel{};   // by chip
};

std::string_view torch_indexes_text();
std::string_view rocm_builds_text();

std::vector<TorchSource> torch_sources(std::string_view text = torch_indexes_text());
RocmTable rocm_table(std::string_view text = rocm_builds_text());

}  // namespace cinnabar::hardware
