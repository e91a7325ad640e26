#include "cinnabar/text/merges_file.h"

#include <cstdlib>
#include <system_error>

#include "cinnabar/base/error.h"

namespace cinnabar::text {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "bpe_simple_vocab_16e6.txt.gz";

bool is_file(const fs::path& path) {
  std::error_code ignored;  // an unreadable place holds no list
  return fs::is_regular_file(path, ignored);
}

}  // namespace

fs::path find_merges_file() {
  if (const char* named = std::getenv("CINNABAR_CLIP_BPE"); named != nullptr && *named != '\0') {
    if (is_file(named)) return named;
    throw base::Error(base::ErrorCode::Io, std::string("CINNABAR_CLIP_BPE=") + named +
                                               ": no such file, expected the CLIP merges list (" + kName + ")");
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = program.parent_path().parent_path() / "share" / "cinnabar" / kName;
  if (is_file(installed)) return installed;
  for (fs::path folder = program.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (is_file(folder / ".deps" / "clip" / kName)) return folder / ".deps" / "clip" / kName;
    if (folder == folder.root_path()) break;
  }
  throw base::Error(base::ErrorCode::Io,
                    std::string("the CLIP merges list (") + kName + ") was not found: not in " +
                        installed.parent_path().string() +
                        " and not in .deps/clip of a folder above the program. Run ./cinnabar setup, or name the "
                        "file in CINNABAR_CLIP_BPE");
}

}  // namespace cinnabar::text
