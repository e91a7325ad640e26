#include "cinnabar/base/committed_folder.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/json_tree.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/base/utf8.h"

namespace cinnabar::base {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".committing-";
constexpr size_t kManifestLimit = size_t{4} << 20;
constexpr size_t kShownBytes = 120;
constexpr uint64_t kLargestVersion = 1'000'000;

[[noreturn]] void fail_to_commit(std::string_view what, const fs::path& path, int error) {
  throw write_error(what, path, error, is_no_space(error) ? "; free some space and try again" : "");
}

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// ".committing-PID-N-NAME": the process is found again by remove_leftovers.
fs::path temporary_for(const fs::path& target) {
  static std::atomic<uint64_t> counter{0};
  return parent_of(target) / (std::string(kPrefix) + std::to_string(::getpid()) + "-" + std::to_string(counter++) +
                              "-" + target.filename().string());
}

// The process that made this temporary name: a folder's as above, or an AtomicFile's ".NAME.PID-N.tmp". 0 for others.
pid_t writer_of(std::string_view name) {
  if (name.starts_with(kPrefix)) {
    name.remove_prefix(kPrefix.size());
  } else {
    constexpr std::string_view kEnding = ".tmp";
    if (!name.starts_with('.') || !name.ends_with(kEnding)) return 0;
    name.remove_suffix(kEnding.size());
    name.remove_prefix(name.rfind('.') + 1);
  }
  pid_t pid = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return problem == std::errc() && end != name.data() + name.size() && *end == '-' ? pid : 0;
}

// A process that ended but that nobody has waited for (usual in containers without an init) still has its number.
bool is_living(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno != EPERM) return false;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() || text[end + 2] != 'Z';
}

void sync_names(const fs::path& target) {
  if (!sync_folder(parent_of(target))) fail_to_commit("cannot sync the names beside", target, errno);
}

// Puts `from` in the place of `to` and syncs the names. What was there before is removed only then: until the disk has
// the new name, the old one may be found again after a loss of power.
void replace_folder(const fs::path& from, const fs::path& to) {
  FileCalls& calls = file_calls();
  check_replaceable(to);
  const auto give_up = [&](std::string_view what, int error) {
    remove_tree(from);
    fail_to_commit(what, to, error);
  };
  std::error_code ignored;
  if (!fs::exists(to, ignored)) {
    if (calls.rename(from, to) != 0) give_up("cannot give the finished folder its name", errno);
    kill_point("folder.renamed");
    sync_names(to);
    return;
  }
  if (calls.exchange(from, to) == 0) {
    kill_point("folder.exchanged");
    sync_names(to);
    remove_tree(from);
    return;
  }
  if (errno != ENOSYS && errno != EINVAL && errno != ENOTSUP) give_up("cannot replace the folder", errno);
  // Without an atomic exchange there is a moment with neither name; the older folder is kept aside until it is over.
  const fs::path aside = temporary_for(to);
  if (calls.rename(to, aside) != 0) give_up("cannot replace the folder", errno);
  if (calls.rename(from, to) != 0) {
    const int error = errno;
    calls.rename(aside, to);
    give_up("cannot give the finished folder its name", error);
  }
  sync_names(to);
  remove_tree(aside);
}

}  // namespace

void check_replaceable(const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (status.type() == fs::file_type::not_found) return;
  const bool is_folder = status.type() == fs::file_type::directory;
  if (is_folder && (fs::exists(target / kManifestName, error) || fs::is_empty(target, error))) return;
  throw Error(ErrorCode::Denied, target.string() + " is already there and was not written by this program (" +
                                     (is_folder ? std::string("it has no ") + kManifestName : "it is no folder") +
                                     "): it is left alone; move it away or choose another name");
}

FolderWriter::FolderWriter(fs::path target) : target_(std::move(target)), temporary_(temporary_for(target_)) {
  check_replaceable(target_);
  if (file_calls().make_folder(temporary_, 0755) != 0) fail_to_commit("cannot create the folder", target_, errno);
  kill_point("folder.made");
}

FolderWriter::~FolderWriter() {
  if (!is_done_) remove_tree(temporary_);
}

fs::path FolderWriter::file(const std::string& name) {
  CINNABAR_ASSERT(!name.empty() && name.find('/') == std::string::npos && name != kManifestName);
  if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
  return temporary_ / name;
}

void FolderWriter::commit(const std::string& kind, int64_t version) {
  CINNABAR_ASSERT(!is_done_);
  nlohmann::json manifest{{"kind", kind}, {"version", version}, {"files", nlohmann::json::object()}};
  for (const std::string& name : names_) {
    const fs::path path = temporary_ / name;
    std::error_code error;
    const uintmax_t size = fs::file_size(path, error);
    if (error) throw Error(ErrorCode::Io, "cannot read back " + path.string() + ": " + error.message());
    manifest["files"][name] = {{"size_bytes", size}, {"sha256", sha256_hex_of_file(path)}};
  }
  kill_point("folder.before_manifest");
  write_file(temporary_ / kManifestName, manifest.dump(1) + "\n");
  kill_point("folder.before_rename");
  // From here on `temporary_` may name the older folder, which stays when the disk does not take the new names.
  is_done_ = true;
  replace_folder(temporary_, target_);
  kill_point("folder.synced");
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    return Error(ErrorCode::Format, where + " is not a manifest: " + what + "; the folder was not written completely");
  };
  nlohmann::ordered_json json;
  if (const auto fault = read_json_tree(text, json)) throw refuse(fault->reason);
  const bool is_manifest = json.is_object() && json.contains("kind") && json["kind"].is_string() &&
                           json.contains("version") && json["version"].is_number_unsigned() &&
                           json["version"].get<uint64_t>() <= kLargestVersion && json.contains("files") &&
                           json["files"].is_object();
  if (!is_manifest) throw refuse("expected the fields kind, version and files");
  Manifest manifest{.kind = json["kind"].get<std::string>(), .version = json["version"].get<int64_t>()};
  for (const auto& [name, entry] : json["files"].items()) {
    const std::string shown = "\"" + shown_text(name, kShownBytes) + "\"";
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos || name == "." ||
        name == "..") {
      throw Error(ErrorCode::Format, where + ": the file name " + shown + " is not allowed");
    }
    const bool is_entry = entry.is_object() && entry.contains("size_bytes") &&
                          entry["size_bytes"].is_number_unsigned() && entry.contains("sha256") &&
                          entry["sha256"].is_string();
    if (!is_entry) throw refuse("the file " + shown + " has no size_bytes and sha256");
    manifest.files[name] = {entry["size_bytes"].get<uint64_t>(), entry["sha256"].get<std::string>()};
  }
  return manifest;
}

Manifest verify_folder(const fs::path& folder) {
  const fs::path file = folder / kManifestName;
  kill_point("folder.verifying");
  std::error_code missing;
  if (!fs::is_directory(folder, missing)) {
    const std::string kind = kind_of(folder);
    throw Error(ErrorCode::Io, folder.string() + ": " +
                                   (kind.empty() ? "no such folder" : "this is " + kind + "; expected a folder") +
                                   "; name a folder that was saved completely");
  }
  const Manifest manifest = parse_manifest(read_file(file, kManifestLimit), file.string());
  for (const auto& [name, entry] : manifest.files) {
    const fs::path path = folder / name;
    std::error_code error;
    const uintmax_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
    if (error || !fs::is_regular_file(path, error)) {
      throw Error(ErrorCode::Format, path.string() + " is missing, though the manifest beside it lists it");
    }
    if (size != entry.size_bytes) {
      throw Error(ErrorCode::Format, path.string() + " has " + std::to_string(size) + " bytes; the manifest says " +
                                         std::to_string(entry.size_bytes) + ": the file is torn");
    }
    if (sha256_hex_of_file(path) != entry.sha256) {
      throw Error(ErrorCode::Format, path.string() + " is not what was written: its SHA-256 differs from the manifest");
    }
  }
  return manifest;
}

bool remove_committed(const fs::path& folder) {
  const fs::path aside = temporary_for(folder);
  if (file_calls().rename(folder, aside) != 0) return errno == ENOENT;
  // Before its files go: after a loss of power the name may be back, and then it must hold all of them.
  sync_folder(parent_of(folder));
  kill_point("folder.removing");
  return remove_tree(aside);
}

std::vector<fs::path> remove_leftovers(const fs::path& parent) {
  std::vector<fs::path> removed;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const pid_t pid = writer_of(it->path().filename().string());
    if (pid <= 0) continue;
    if (pid != ::getpid() && is_living(pid)) continue;
    kill_point("leftovers.removing");
    const bool is_folder = fs::is_directory(it->symlink_status(error));
    if (is_folder ? remove_tree(it->path()) : file_calls().unlink(it->path()) == 0) removed.push_back(it->path());
  }
  std::ranges::sort(removed);
  return removed;
}

}  // namespace cinnabar::base
