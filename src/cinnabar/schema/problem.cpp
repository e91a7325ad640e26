#include "cinnabar/schema/problem.h"

#include <algorithm>

namespace cinnabar::schema {

std::string to_string(const Problem& problem) {
  std::string text = problem.where;
  const auto append = [&](const std::string& part, const char* separator) {
    if (part.empty()) return;
    if (!text.empty()) text += separator;
    text += part;
  };
  append(problem.option, ": ");
  append(problem.found, problem.option.empty() ? ": " : " = ");
  append(problem.message, ": ");
  return text;
}

void Problems::raise() const {
  if (list_.empty()) return;
  std::vector<std::string> lines;
  for (const Problem& problem : list_) {
    const std::string line = to_string(problem);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  std::string text;
  if (lines.size() > 1) text = std::to_string(lines.size()) + " problems in the configuration:";
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n  ") + line;
  throw base::Error(base::ErrorCode::Config, text);
}

}  // namespace cinnabar::schema
