// Pictures while training: which prompts, when, and under which names.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/base/events.h"
#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/sample/generator.h"
#include "cinnabar/sample/parameters_text.h"
#include "cinnabar/sample/prompt_file.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::sample {

// A place in a run where pictures may be due.
struct PreviewPoint {
  int64_t step = 0;       // optimizer steps done
  int64_t epoch = 0;      // epochs done; counts at the start and at the end of an epoch
  bool is_start = false;  // before the first step
  bool is_epoch_end = false;
};

class Previews {
 public:
  // Reads sample_prompts once; mistakes in it become warnings. Options: sample_prompts, sample_every_n_steps,
  // sample_every_n_epochs, sample_at_first, sample_sampler and the sampler's own, output_dir, output_name, seed,
  // clip_skip, max_token_length.
  Previews(const schema::Values& values, const models::ModelInfo& info, PictureFacts facts, base::EventSink& events);

  // Whether run() may be called at all: then the model must keep its autoencoder and text encoders.
  bool is_on() const { return !requests_.empty() && (every_n_steps_ > 0 || every_n_epochs_ > 0 || at_start_); }
  // every_n_epochs counts over every_n_steps, as in the reference.
  bool due(const PreviewPoint& point) const;
  // Whether no picture of this place is there.
  bool is_missing(const PreviewPoint& point) const;
  // Makes all pictures, each complete on disk when its event is sent. A prompt that fails is a warning. Returns early
  // when `stop` becomes true. The caller ends the adapters' training mode (AdapterSet::set_step({})) before.
  void run(models::DiffusionModel& model, const PreviewPoint& point, base::EventSink& events,
           const std::atomic<bool>& stop);

  // "<output_dir>/sample/<output_name>_e000003_00_20260131093000_42.png"; the seed stands there when the prompt has
  // one.
  std::filesystem::path path_of(const PreviewPoint& point, size_t index, const std::string& time) const;

 private:
  std::string place_of(const PreviewPoint& point) const;
  // False, with one warning for as long as that lasts, when the picture cannot be written.
  bool write(const std::filesystem::path& path, const Generated& made, base::EventSink& events);

  bool is_unwritable_ = false;
  std::vector<SampleRequest> requests_;
  std::vector<bool> has_seed_;  // of each request: named in the prompt
  GeneratorOptions generator_;
  PictureFacts facts_;
  std::filesystem::path folder_;
  std::string prefix_;
  int64_t every_n_steps_ = 0;
  int64_t every_n_epochs_ = 0;
  bool at_start_ = false;
};

// A line for each option that is given but means nothing to a sampler of the requests.
std::vector<std::string> unused_option_notes(const std::vector<SampleRequest>& requests, const schema::Values& values);

// Local time as YYYYmmddHHMMSS.
std::string time_text();

}  // namespace cinnabar::sample
