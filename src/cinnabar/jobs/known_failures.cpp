#include "cinnabar/jobs/known_failures.h"

#include "cinnabar/hardware/failures.h"
#include "cinnabar/hardware/process_limits.h"

namespace cinnabar::jobs {

namespace {

// Enough for a library's message with the stack that may follow.
constexpr size_t kSearchedLines = 80;

}  // namespace

std::string KnownFailures::take(const std::string& line) {
  lines_.push_back(line);
  if (lines_.size() > kSearchedLines) lines_.erase(lines_.begin());
  const auto known = hardware::explain_failure(line);
  if (!known || !known->is_harmless || !noted_.insert(known->number).second) return {};
  return "note: " + hardware::to_string(*known);
}

std::string KnownFailures::text() const {
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

std::string KnownFailures::explanation() const {
  const auto known = hardware::explain_failure(text());
  return known && !known->is_harmless ? hardware::to_string(*known) : std::string();
}

std::string KnownFailures::shortage() const {
  return hardware::shortage_text(hardware::shortage_of(text()), hardware::process_limits());
}

}  // namespace cinnabar::jobs
