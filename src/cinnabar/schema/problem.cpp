#include "cinnabar/schema/problem.h"

#include "cinnabar/base/utf8.h"
#include "cinnabar/schema/secrets.h"

#include <algorithm>
#include <set>

namespace cinnabar::schema {

std::string to_string(const Problem& problem) {
  std::string text = problem.where;
  const auto append = [&](const std::string& part, const char* separator) {
    if (part.empty()) return;
    if (!text.empty()) text += separator;
    text += part;
  };
  // Both may come from a file: of any length, and with anything in them.
  append(base::shown_text(problem.option, kShownBytes), ": ");
  const std::string found = is_secret_option(problem.option) && !problem.found.empty() ? std::string(kHidden)
                                                                                       : without_secrets(problem.found);
  append(base::shown_text(found, kShownBytes), problem.option.empty() ? ": " : " = ");
  append(problem.message, ": ");
  return text;
}

void Problems::raise() const {
  if (list_.empty()) return;
  constexpr size_t kMostShown = kMostProblems;
  std::vector<std::string> lines;
  std::set<std::string> seen;
  for (const Problem& problem : list_) {
    std::string line = to_string(problem);
    if (seen.insert(line).second) lines.push_back(std::move(line));
  }
  std::string text;
  if (lines.size() > 1) text = std::to_string(lines.size()) + " problems in the configuration:";
  for (size_t i = 0; i < std::min(lines.size(), kMostShown); ++i) text += (text.empty() ? "" : "\n  ") + lines[i];
  if (lines.size() > kMostShown) text += "\n  and " + std::to_string(lines.size() - kMostShown) + " more";
  throw base::Error(base::ErrorCode::Config, text);
}

}  // namespace cinnabar::schema
