#include "cinnabar/jobs/run_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <span>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/local_time.h"
#include "cinnabar/base/log.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/utf8.h"
#include "cinnabar/schema/config_text.h"

namespace cinnabar::jobs {

namespace {

namespace fs = std::filesystem;

// Letters, digits and a few marks: the name comes from a user and becomes a folder.
std::string folder_name(const std::string& name) {
  std::string result;
  for (const char c : name.substr(0, 80)) {
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
    result += is_plain ? c : '_';
  }
  return result.empty() ? "run" : result;
}

[[noreturn]] void fail(std::string_view what, const fs::path& path, int error) {
  const std::string advice = base::is_no_space(error) ? "; free some space" : "";
  throw base::write_error(what, path, error, advice + ", or give --workspace FOLDER");
}

// A relative path would be another folder for each place from which the program is called.
void tell_relative(const char* data) {
  static const bool kIsTold = [&] {
    base::log_warning("XDG_DATA_HOME = " + base::shown_text(data, 200) +
                      " is no absolute path and is not used; runs are kept below HOME");
    return true;
  }();
  (void)kIsTold;
}

}  // namespace

std::string time_text() { return base::local_time("%Y%m%d-%H%M%S"); }

fs::path default_workspace() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/')
    return fs::path(data) / "cinnabar";
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data != '\0') tell_relative(data);
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return fs::path(home) / ".local" / "share" / "cinnabar";
  }
  throw base::Error(base::ErrorCode::Io,
                    "no place for run records: neither XDG_DATA_HOME nor HOME is set; give --workspace FOLDER");
}

fs::path runs_folder(const fs::path& workspace) { return workspace / "runs"; }
fs::path bin_folder(const fs::path& workspace) { return workspace / "bin"; }

RunFolder::RunFolder(const fs::path& workspace, const std::string& name) {
  const fs::path runs = runs_folder(fs::absolute(workspace));
  if (!base::make_folders(runs)) fail("cannot make the folder of run records", runs, errno);
  std::error_code error;
  const std::string base_name = time_text() + "-" + folder_name(name);
  for (int attempt = 1; attempt <= 1000; ++attempt) {
    path_ = runs / (attempt == 1 ? base_name : base_name + "-" + std::to_string(attempt));
    // The id of a run follows from the name of its folder, so one in the bin keeps its name for itself.
    if (fs::exists(bin_folder(fs::absolute(workspace)) / path_.filename(), error)) continue;
    if (base::file_calls().make_folder(path_, 0700) == 0) return;
    if (errno != EEXIST) break;
  }
  fail("cannot make the run record", path_, errno);
}

void RunFolder::write_config(const schema::Schema& schema, schema::Config config) const {
  for (const auto& [option, text] : config.attachments) {
    const fs::path file = path_ / (option + ".txt");
    base::write_file(file, text + "\n");
    config.values.set(option, file.string());
  }
  base::write_file(config_file(), schema::config_json(schema, config));
  base::write_file(path_ / "config.toml", schema::config_toml(schema, config));
}

bool RunFolder::append(const char* file, std::string_view line, bool& is_torn) const noexcept {
  try {
    const int fd = base::file_calls().open(path_ / file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const std::string text = (is_torn ? "\n" : "") + std::string(line) + "\n";
    const bool is_written = base::write_all(fd, std::as_bytes(std::span(text)));
    is_torn = !is_written;
    return base::file_calls().close(fd) == 0 && is_written;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void RunFolder::write_state(const std::string& json) const { base::write_file(path_ / "run.json", json + "\n"); }

}  // namespace cinnabar::jobs
