#include "faults/power_loss.h"

#include <fcntl.h>

#include <fstream>
#include <set>

#include "cinnabar/base/error.h"

namespace cinnabar::faults {

namespace fs = std::filesystem;

PowerLossCalls::PowerLossCalls(fs::path root) : root_path_(std::move(root)), root_(std::make_shared<Node>()) {
  root_->is_folder = true;
}

void PowerLossCalls::done() const {
  if (after_call) after_call();
}

bool PowerLossCalls::is_mirrored(const fs::path& path) const {
  const fs::path relative = path.lexically_relative(root_path_);
  return !relative.empty() && *relative.begin() != "..";
}

std::shared_ptr<PowerLossCalls::Node> PowerLossCalls::find(const fs::path& path) const {
  const fs::path relative = path.lexically_relative(root_path_);
  std::shared_ptr<Node> node = root_;
  for (const fs::path& part : relative) {
    if (part == "." || part.empty()) continue;
    const auto found = node->names.find(part.string());
    if (found == node->names.end()) return nullptr;
    node = found->second;
  }
  return node;
}

PowerLossCalls::Node& PowerLossCalls::folder_of(const fs::path& path) const {
  const auto folder = find(path.parent_path());
  CINNABAR_ASSERT(folder && folder->is_folder);
  return *folder;
}

int PowerLossCalls::open(const fs::path& path, int flags, mode_t mode) {
  const int fd = FileCalls::open(path, flags, mode);
  if (fd < 0 || !is_mirrored(path)) return fd;
  std::shared_ptr<Node> node = find(path);
  if (!node) {
    node = std::make_shared<Node>();
    folder_of(path).names[path.filename().string()] = node;
  }
  if ((flags & O_TRUNC) != 0) node->contents.clear();
  open_[fd] = node;
  done();
  return fd;
}

ssize_t PowerLossCalls::write(int fd, const void* data, size_t size) {
  const ssize_t written = FileCalls::write(fd, data, size);
  const auto node = open_.find(fd);
  if (node == open_.end()) return written;
  if (written > 0) node->second->contents.append(static_cast<const char*>(data), static_cast<size_t>(written));
  done();
  return written;
}

int PowerLossCalls::sync(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return 0;
  Node& node = *found->second;
  node.synced = node.contents;
  node.synced_names = node.names;
  done();
  return 0;
}

int PowerLossCalls::close(int fd) {
  open_.erase(fd);
  return FileCalls::close(fd);
}

int PowerLossCalls::rename(const fs::path& from, const fs::path& to) {
  const int result = FileCalls::rename(from, to);
  if (!is_mirrored(from)) return result;
  if (result == 0) {
    const std::shared_ptr<Node> node = find(from);
    folder_of(from).names.erase(from.filename().string());
    folder_of(to).names[to.filename().string()] = node;
  }
  done();
  return result;
}

int PowerLossCalls::exchange(const fs::path& one, const fs::path& other) {
  const int result = FileCalls::exchange(one, other);
  if (!is_mirrored(one)) return result;
  if (result == 0) {
    std::swap(folder_of(one).names.at(one.filename().string()), folder_of(other).names.at(other.filename().string()));
  }
  done();
  return result;
}

int PowerLossCalls::unlink(const fs::path& path) {
  const int result = FileCalls::unlink(path);
  if (!is_mirrored(path)) return result;
  if (result == 0) folder_of(path).names.erase(path.filename().string());
  done();
  return result;
}

int PowerLossCalls::make_folder(const fs::path& path, mode_t mode) {
  const int result = FileCalls::make_folder(path, mode);
  if (!is_mirrored(path)) return result;
  if (result == 0) {
    const auto node = std::make_shared<Node>();
    node->is_folder = true;
    folder_of(path).names[path.filename().string()] = node;
  }
  done();
  return result;
}

int PowerLossCalls::remove_folder(const fs::path& path) {
  const int result = FileCalls::remove_folder(path);
  if (!is_mirrored(path)) return result;
  if (result == 0) folder_of(path).names.erase(path.filename().string());
  done();
  return result;
}

void PowerLossCalls::write_node(const Node& node, const fs::path& to, Loss loss, std::mt19937& random) {
  if (!node.is_folder) {
    std::string contents = loss == Loss::Names ? node.contents : node.synced;
    if (loss == Loss::Random) {
      const auto draw = random() % 3;
      if (draw == 0) contents = node.contents;
      // What was not synced may be there in part, and the rest may be zeros.
      if (draw == 1 && node.contents.size() > node.synced.size()) {
        contents = node.contents.substr(0, node.synced.size() + random() % (node.contents.size() - node.synced.size()));
        contents.resize(node.contents.size(), '\0');
      }
    }
    std::ofstream(to, std::ios::binary) << contents;
    return;
  }
  fs::create_directories(to);
  std::set<std::string> all;
  for (const auto& [name, child] : node.names) all.insert(name);
  for (const auto& [name, child] : node.synced_names) all.insert(name);
  for (const std::string& name : all) {
    bool is_synced = loss == Loss::Names || loss == Loss::Both;
    if (loss == Loss::Random) is_synced = random() % 2 == 0;
    const auto& names = is_synced ? node.synced_names : node.names;
    if (const auto child = names.find(name); child != names.end()) write_node(*child->second, to / name, loss, random);
  }
}

void PowerLossCalls::lay_out(const fs::path& copy, Loss loss, std::mt19937& random) const {
  write_node(*root_, copy, loss, random);
}

}  // namespace cinnabar::faults
