// A folder below the system's temporary one, removed with all its content at the end of a test.
#pragma once

#include <filesystem>
#include <string>

namespace cinnabar::formats {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  // Writes `bytes` as the file `name` (folders are made) and returns its path.
  std::filesystem::path put(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path path_;
};

}  // namespace cinnabar::formats
