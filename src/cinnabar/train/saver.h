// Files of a run: the adapter at each save point, with its metadata, and the removal of older ones.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/adapters/metadata.h"
#include "cinnabar/base/events.h"
#include "cinnabar/plan/steps.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::train {

struct SavedAt {
  int64_t step = 0;
  int64_t epoch = 0;         // as ss_epoch counts
  bool is_averaged = false;  // the weights are the moving average's
};

struct SavedFile {
  std::string name;
  int64_t step = 0;
};

// Behind the stem of files with the last step's weights, where the plain name is the average's (ema_save_raw).
inline constexpr const char* kRawEnding = "-raw";

class Saver {
 public:
  // The set and the sink must outlive the saver. That output_dir can be written is checked before (check_folders).
  Saver(adapters::AdapterSet& set, adapters::TrainingFacts facts, const schema::Values& values,
        base::EventSink& events);

  // Writes STEM with the extension of save_model_as. Throws Error{Io} or Error{OutOfSpace}; an older file of that name
  // is replaced as a whole.
  std::filesystem::path save(const std::string& stem, const SavedAt& at);
  // The same in two parts: copies everything now, and gives what writes the file. That may be called from another
  // thread, and again after it has thrown; the event is sent once the file is complete. A folder that is gone is not
  // made by it: the disk that it is on may come back.
  std::function<void()> prepare(const std::string& stem, const SavedAt& at);
  // Makes output_dir when it is gone, and says so; false when it is there, or cannot be made.
  bool make_folder_anew();
  std::filesystem::path path_of(const std::string& stem) const { return folder_ / (stem + extension_); }
  const std::filesystem::path& folder() const { return folder_; }
  // stem -> step of the files of this run; a resumed run takes over those of the earlier part.
  std::map<std::string, int64_t>& saved_files() { return saved_; }
  // Forgets an older file of this run that the options no longer keep, and gives what removes it and the one with
  // kRawEnding. That may be called from another thread; a missing file is no error.
  std::function<void()> prepare_removal(const std::string& stem);
  // The saved file whose step is nearest to `step`; no name before the first one.
  SavedFile nearest(int64_t step) const;

 private:
  adapters::AdapterSet& set_;
  adapters::TrainingFacts facts_;
  schema::Values values_;  // metadata_thumbnail as a data URL
  base::EventSink& events_;
  std::filesystem::path folder_;
  std::string extension_;                 // with its dot
  std::map<std::string, int64_t> saved_;  // stem -> step, of what this run wrote and did not remove
};

}  // namespace cinnabar::train
