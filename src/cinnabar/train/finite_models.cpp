#include "cinnabar/train/finite_models.h"

#include <sstream>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/log.h"

namespace cinnabar::train {

namespace {

constexpr size_t kHashDigits = 64;

}  // namespace

// Format: one hash a line.
FiniteModels::FiniteModels(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code error;
  if (file_.empty() || !std::filesystem::is_regular_file(file_, error)) return;
  try {
    std::istringstream lines(base::read_file(file_));
    for (std::string line; std::getline(lines, line);) {
      if (line.size() == kHashDigits) known_.insert(line);
    }
  } catch (const base::Error& failure) {
    base::log_warning("The list of checked models is not read, so they are checked again: " + failure.message());
  }
}

void FiniteModels::add(const std::string& hash) {
  if (!known_.insert(hash).second || file_.empty()) return;
  std::string text;
  for (const std::string& one : known_) text += one + "\n";
  try {
    base::write_file(file_, text);
  } catch (const base::Error& error) {
    base::log_warning("That a model holds numbers only is not remembered, and is checked again at the next start: " +
                      error.message());
  }
}

}  // namespace cinnabar::train
