#include "cinnabar/data/shared_names.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cinnabar::data {

namespace {

namespace fs = std::filesystem;

// Folder and name without the extension, as fs::path::extension() sees it; a view, since there may be a million paths.
std::string_view without_extension(const fs::path& path) {
  const std::string_view text = path.native();
  const size_t name = text.rfind('/') + 1;  // 0 without a folder
  const size_t dot = text.rfind('.');
  return dot == std::string_view::npos || dot <= name ? text : text.substr(0, dot);
}

}  // namespace

std::vector<Issue> shared_name_issues(const std::vector<const fs::path*>& pictures) {
  std::unordered_map<std::string_view, const fs::path*> first;
  first.reserve(pictures.size());
  std::map<fs::path, std::vector<const fs::path*>> groups;  // of two and more
  for (const fs::path* picture : pictures) {
    const std::string_view name = without_extension(*picture);
    const auto [found, is_new] = first.emplace(name, picture);
    if (is_new) continue;
    std::vector<const fs::path*>& group = groups[name];
    if (group.empty()) group.push_back(found->second);
    group.push_back(picture);
  }
  std::vector<Issue> issues;
  for (const auto& [name, group] : groups) {
    std::string names;
    for (const fs::path* picture : group) names += (names.empty() ? "" : ", ") + picture->filename().string();
    issues.push_back({Severity::Warning, name.parent_path(),
                      std::to_string(group.size()) + " pictures share the name " + name.filename().string() + " (" +
                          names + "), and with it the caption file and the mask",
                      "all are used, without .npz files; rename them", Treatment::Used, "shared_name"});
  }
  return issues;
}

}  // namespace cinnabar::data
