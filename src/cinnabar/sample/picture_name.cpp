#include "cinnabar/sample/picture_name.h"

#include <fcntl.h>
#include <sys/file.h>

#include <string>

#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/process.h"

namespace cinnabar::sample {

namespace {

std::filesystem::path numbered(const std::filesystem::path& path, int number) {
  if (number == 1) return path;
  const std::string name = path.stem().string() + "_" + std::to_string(number) + path.extension().string();
  return path.parent_path() / name;
}

}  // namespace

std::filesystem::path write_new_file(const std::filesystem::path& path,
                                     const std::function<void(const std::filesystem::path&)>& write) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  // Held until the name is on the disk; closing the descriptor gives the turn to the next.
  const base::Descriptor turn(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (turn.is_open()) (void)::flock(turn.get(), LOCK_EX);
  std::filesystem::path free = path;
  for (int number = 2; !base::kind_of(free).empty(); ++number) free = numbered(path, number);
  write(free);
  return free;
}

}  // namespace cinnabar::sample
