// Paths that are looked at long after the start: what is wrong with them is told before a run begins.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/schema/lora_word.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

namespace fs = std::filesystem;

// Why the folder can neither be used nor made; "" when nothing speaks against it. Makes nothing.
std::string why_no_output_folder(const fs::path& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder, error).lexically_normal();
  if (!there.has_filename()) there = there.parent_path();
  while (fs::symlink_status(there, error).type() == fs::file_type::not_found && there.has_relative_path())
    there = there.parent_path();
  const std::string what = there == fs::absolute(folder, error).lexically_normal() ? "this" : there.string();
  if (!fs::is_directory(there, error)) {
    const std::string kind = base::kind_of(there);
    return what + " is " + (kind.empty() ? "not readable" : kind) + "; expected a folder, or one that can be made";
  }
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    return "cannot write to " + there.string() + ": " + std::strerror(errno) + "; name another folder";
  return {};
}

// The state beside a name that is none: "; did you mean out/cat-state?"
std::string near_state(const fs::path& wanted) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with("-state")) names.push_back(name);
  }
  const std::string near = base::nearest_name(wanted.filename().string(), names);
  return near.empty() ? "" : "; did you mean " + (wanted.parent_path() / near).string() + "?";
}

}  // namespace

void check_early_paths(const Config& config, const std::map<std::string, Given>& given, Problems& problems) {
  const Values& values = config.values;
  const auto add = [&](const std::string& name, const std::string& found, const std::string& message) {
    const auto place = given.find(name);
    problems.add({place == given.end() ? "" : place->second.where, name, found, message});
  };
  // A configuration may be written for another machine.
  if (values.flag("output_config")) return;
  if (config.command == "train" || config.command == "sample") {
    const std::string folder = value_text(values.raw("output_dir"));
    const std::string why = folder.empty() ? "" : why_no_output_folder(folder);
    if (!why.empty()) add("output_dir", folder, why);
  }
  if (config.command == "sample") {
    for (const std::string& word : values.texts("lora")) {
      const std::string why = lora_word_problem(parse_lora_word(word));
      if (!why.empty()) add("lora", word, why);
    }
  }
  const std::string state = config.command == "train" ? value_text(values.raw("resume")) : "";
  std::error_code error;
  if (!state.empty() && state != "auto" && state != "newest" && !state.starts_with("run:") &&
      !fs::exists(state, error)) {
    const std::string near = near_state(fs::path(state).lexically_normal());
    add("resume", state, "no such folder; expected a saved state, or auto for the newest one" + near);
  }
}

}  // namespace cinnabar::schema
