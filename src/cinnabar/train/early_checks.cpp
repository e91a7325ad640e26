#include "cinnabar/train/early_checks.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <regex>
#include <string>

#include <ATen/ATen.h>

#include "cinnabar/adapters/thumbnail.h"
#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/train/run_optimizer.h"

namespace cinnabar::train {

namespace {

void check_writable(const std::string& option, const std::filesystem::path& folder) {
  if (!base::make_folders(folder)) throw base::write_error("cannot make " + option, folder, errno);
  // An empty file may fit a full disk, a page does not.
  const std::filesystem::path probe = folder / ".cinnabar-write-test";
  try {
    base::write_file(probe, std::string(4096, '\n'));
  } catch (const base::Error& error) {
    throw base::Error(error.code(), option + " " + folder.string() + " cannot be written: " + error.message());
  }
  base::file_calls().unlink(probe);
}

// What stands under names that this run may give to files and states, and is not of the kind that it replaces.
void check_names(const schema::Values& values) {
  const std::string stem = values.maybe_text("output_name").value_or("last");
  const std::string extension = "." + values.maybe_text("save_model_as").value_or("safetensors");
  const bool has_state = values.flag("save_state") || values.flag("save_state_on_train_end");
  static const std::regex kSaved("(-[0-9]{6,}|-step[0-9]{8,})?(-raw)?(-state|\\.[a-z]+)");
  std::error_code error;
  for (std::filesystem::directory_iterator it(values.text("output_dir"), error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(stem)) continue;
    const std::string rest = name.substr(stem.size());
    if (!std::regex_match(rest, kSaved)) continue;
    if (has_state && rest.ends_with("-state")) base::check_replaceable(it->path());
    if (!rest.ends_with(extension)) continue;
    if (const std::string why = base::why_not_replaced(it->path()); !why.empty())
      throw base::Error(base::ErrorCode::Denied, it->path().string() + " would be saved over: " + why);
  }
}

}  // namespace

void check_folders(const schema::Values& values) {
  for (const char* option : {"output_dir", "logging_dir"}) {
    if (const auto folder = values.maybe_text(option)) check_writable(option, *folder);
  }
  check_names(values);
  if (const auto picture = values.maybe_text("metadata_thumbnail")) adapters::thumbnail_url(*picture);
}

void check_optimizer(const schema::Values& values, const optim::FlatParameters& parameters, int64_t total_steps) {
  schema::Values copy = values;
  base::SilentEvents silent;
  optim::FlatParameters stand_ins;
  for (const optim::ParameterGroup& group : parameters.groups())
    stand_ins.add_group(group.name, group.lr, {{group.name, at::zeros({2, 2})}});
  make_run_optimizer(copy, stand_ins, std::max<int64_t>(1, total_steps), silent);
}

}  // namespace cinnabar::train
