#include "cinnabar/data/picture_notes.h"

namespace cinnabar::data {

void PictureNotes::say_once(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (said_.insert(key).second && say_) say_(text);
}

void PictureNotes::add(const std::filesystem::path& picture, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (note == kDamagedJpeg) {
      fault(picture, picture.string() + ": " + note);
      continue;
    }
    say_once("note " + note, picture.string() + ": " + note + " (said once; it holds for all pictures like this one)");
  }
}

void PictureNotes::fault(const std::filesystem::path& picture, const std::string& message) {
  say_once("fault " + picture.string() + " " + message, message);
}

}  // namespace cinnabar::data
