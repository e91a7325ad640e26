// What reading pictures brings up while a run goes on: said once a kind, or once a file, from any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace cinnabar::data {

// Told of every picture that has it, not once a kind.
inline constexpr const char* kDamagedJpeg =
    "the JPEG is damaged inside and parts of the picture may be missing; it is used, and --strict leaves it out";

class PictureNotes {
 public:
  // `say` gets whole sentences; calls do not overlap.
  explicit PictureNotes(std::function<void(const std::string&)> say) : say_(std::move(say)) {}

  // Oddities of a picture ("16 bits a sample: ..."): the first picture of each kind is named, and each damaged one.
  void add(const std::filesystem::path& picture, const std::vector<std::string>& notes);
  // A fault of one picture; each message is said once a picture.
  void fault(const std::filesystem::path& picture, const std::string& message);

 private:
  void say_once(const std::string& key, const std::string& text);

  std::function<void(const std::string&)> say_;
  std::mutex mutex_;
  std::set<std::string> said_;
};

}  // namespace cinnabar::data
