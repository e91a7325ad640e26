#include "cinnabar/train/early_checks.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

#include <ATen/ATen.h>

#include "cinnabar/adapters/thumbnail.h"
#include "cinnabar/base/atomic_file.h"
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

}  // namespace

void check_folders(const schema::Values& values) {
  for (const char* option : {"output_dir", "logging_dir"}) {
    if (const auto folder = values.maybe_text(option)) check_writable(option, *folder);
  }
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
