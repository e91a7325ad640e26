// A model of what a disk holds after the power went: only what was synced is certain. File calls pass through to the
// real file system (but syncs, which cost time and prove nothing here) and are mirrored; at any moment a folder can be
// laid out as it would be found after a loss.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "cinnabar/base/file_calls.h"

namespace cinnabar::faults {

enum class Loss {
  Data,    // names are kept, unsynced contents are lost
  Names,   // contents are kept, names that were not synced are as before
  Both,    // all that was not synced is lost
  Random,  // each name and each file by chance: before, after, or a part of the contents
};

class PowerLossCalls : public base::FileCalls {
 public:
  // Models what lies below `root`, which is empty.
  explicit PowerLossCalls(std::filesystem::path root);

  // Lays out below `copy`, which is made, what could be found after a loss of power now.
  void lay_out(const std::filesystem::path& copy, Loss loss, std::mt19937& random) const;
  // Called after every mirrored call; may call lay_out.
  std::function<void()> after_call;

  int open(const std::filesystem::path& path, int flags, mode_t mode) override;
  ssize_t write(int fd, const void* data, size_t size) override;
  int sync(int fd) override;
  int close(int fd) override;
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  int exchange(const std::filesystem::path& one, const std::filesystem::path& other) override;
  int unlink(const std::filesystem::path& path) override;
  int make_folder(const std::filesystem::path& path, mode_t mode) override;
  int remove_folder(const std::filesystem::path& path) override;

 private:
  struct Node {
    bool is_folder = false;
    std::string contents;  // as programs see them
    std::string synced;    // as the disk surely has them
    std::map<std::string, std::shared_ptr<Node>> names;
    std::map<std::string, std::shared_ptr<Node>> synced_names;
  };

  bool is_mirrored(const std::filesystem::path& path) const;
  std::shared_ptr<Node> find(const std::filesystem::path& path) const;
  // The folder that holds the last name of `path`.
  Node& folder_of(const std::filesystem::path& path) const;
  static void write_node(const Node& node, const std::filesystem::path& to, Loss loss, std::mt19937& random);
  void done() const;

  std::filesystem::path root_path_;
  std::shared_ptr<Node> root_;
  std::map<int, std::shared_ptr<Node>> open_;
};

}  // namespace cinnabar::faults
