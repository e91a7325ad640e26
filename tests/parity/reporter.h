// What a parity group reports: one line a case with the largest error, and the totals.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cinnabar/base/registry.h"

namespace cinnabar::parity {

class Reporter {
 public:
  // A case passes when `largest_error` is a number and at most `tolerance`. `note` says where, or what the error
  // measures.
  void result(const std::string& name, double largest_error, double tolerance, const std::string& note = {});
  void fail(const std::string& name, const std::string& why);
  // For cases whose group or feature is not built yet; counts as missing.
  void skip(const std::string& name, const std::string& why);

  int passed() const { return passed_; }
  int failed() const { return failed_; }
  int skipped() const { return skipped_; }

 private:
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
};

// `folder` is the group's folder below the goldens ("tokenizer", "models", ...). An exception counts as one failed
// case.
using Group = std::function<void(const std::filesystem::path& folder, Reporter& reporter)>;

base::Registry<Group>& groups();

}  // namespace cinnabar::parity

// `name` is the folder's name. One group may be registered by several files: name them "models", "models.vae", ...;
// the part before the dot is the folder.
#define CINNABAR_PARITY_GROUP(identifier, name, ...) \
  static const bool registered_parity_##identifier = ::cinnabar::parity::groups().add(name, __VA_ARGS__)
