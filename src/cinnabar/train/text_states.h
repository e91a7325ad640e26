// What the text side gives for the captions of a batch: computed with gradients, or kept by caption when it is frozen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/data/tensor_cache.h"
#include "cinnabar/models/diffusion_model.h"

namespace cinnabar::train {

struct TextStatesOptions {
  models::TextOptions text{};
  bool is_trained = false;         // the encoder changes: every batch is encoded anew, with gradients
  std::filesystem::path folder{};  // of the cache on disk; empty: in memory
  std::string model_hash{};        // names the encoder in keys
  size_t most_kept = 65'536;       // captions kept in memory when they vary without end
  bool is_exact = false;           // the same bits whatever captions are encoded together (slower)
};

class TextStates {
 public:
  // The model must outlive it.
  TextStates(models::DiffusionModel& model, const TextStatesOptions& options);

  // Encodes all captions that are not known yet; for data sets whose captions do not vary. `is_stopped` ends it early.
  void fill(const std::vector<std::string>& captions, base::EventSink& events, const std::function<bool()>& is_stopped);
  models::Conditioning of(const std::vector<std::string>& captions);
  // States of one caption that come from elsewhere, without the batch dimension; not for a folder on disk.
  void put(const std::string& caption, const models::Conditioning& states);
  // Files of the cache that were left out.
  const std::vector<std::string>& problems() const { return store_.problems(); }

 private:
  std::string key(const std::string& caption) const;
  void store(const std::vector<std::string>& captions);

  models::DiffusionModel& model_;
  TextStatesOptions options_;
  data::TensorCache store_;
};

}  // namespace cinnabar::train
