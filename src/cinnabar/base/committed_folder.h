// Folders of files that belong together: complete under their final name, or absent. A manifest lists what is in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::base {

inline constexpr const char* kManifestName = "manifest.json";

// A FolderWriter replaces an older folder of its kind, or an empty one; everything else is somebody's own. Throws
// Error{Denied} for that.
void check_replaceable(const std::filesystem::path& target);

// Files are written into a hidden folder beside the target. commit() reads each of them back for its SHA-256, writes
// the manifest, syncs, and gives the folder its final name; a folder that has that name is replaced at once. Without
// commit the destructor removes what was written. Throws Error{OutOfSpace} or Error{Io} with the path; the target is
// then as it was before.
class FolderWriter {
 public:
  explicit FolderWriter(std::filesystem::path target);
  ~FolderWriter();
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;

  // Where to write the file `name` (no folders in it); every such file must exist at the commit.
  std::filesystem::path file(const std::string& name);
  // `kind` and `version` say what the folder holds: "training-state", 1.
  void commit(const std::string& kind, int64_t version);

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  std::vector<std::string> names_;
  bool is_done_ = false;
};

struct ManifestEntry {
  uint64_t size_bytes = 0;
  std::string sha256;
};

struct Manifest {
  std::string kind;
  int64_t version = 0;
  std::map<std::string, ManifestEntry> files;
};

// The text of a manifest; `where` opens messages. Throws Error{Format}.
Manifest parse_manifest(std::string_view text, const std::string& where);

// Reads the manifest and compares size and SHA-256 of every file. Throws Error{Format} that names the first file that
// is missing or not what was written, Error{Io} when there is no manifest.
Manifest verify_folder(const std::filesystem::path& folder);

// Removes a folder that was committed. It first loses its name at once, so that a kill leaves no part of it under that
// name. True when nothing is left; a missing folder is none.
bool remove_committed(const std::filesystem::path& folder);

// Removes hidden folders and files that this writer and AtomicFile left behind in `parent` when their process died;
// those of living processes stay. Gives what was removed.
std::vector<std::filesystem::path> remove_leftovers(const std::filesystem::path& parent);

}  // namespace cinnabar::base
