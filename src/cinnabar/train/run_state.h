// What a run has to keep so that it can go on as if nothing had happened: weights, moments, counters, position in the
// data, and what it was made of. A state is a folder, complete or absent (base/committed_folder.h).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cinnabar/optim/optimizer.h"
#include "cinnabar/train/ema.h"
#include "cinnabar/train/gradient_scaler.h"
#include "cinnabar/train/training_log.h"
#include "cinnabar/train/validation.h"

namespace cinnabar::train {

inline constexpr const char* kStateKind = "training-state";
inline constexpr int64_t kStateVersion = 1;

// Random streams are functions of seed, epoch and item (base/random_stream.h), so the counters are all that has to be
// kept of them.
struct RunPosition {
  int64_t step = 0;              // optimizer steps done
  int64_t scheduled_steps = 0;   // those that moved the schedule
  int64_t micro_step = 0;        // micro-batches done
  int64_t epoch = 1;             // being trained, from 1
  int64_t batches = 0;           // of that epoch that are done
  int64_t epoch_first_step = 0;  // steps done when that epoch began
  int64_t bad_losses = 0;        // steps in succession of which nothing could be trained
  bool is_vae_float = false;     // since latents left the range of its own type
  bool is_epoch_over = false;    // what is due at the end of an epoch was done since the last step
  friend bool operator==(const RunPosition&, const RunPosition&) = default;
};

// What a resumed run is compared with.
struct RunIdentity {
  uint64_t seed = 0;
  std::string model_hash;
  std::string data_hash;        // data_fingerprint()
  int64_t max_train_steps = 0;  // of the plan
  int64_t batches_per_epoch = 0;
  // Drawn when a training begins anew and kept by the runs that go on from it by themselves; "" in states of earlier
  // versions.
  std::string lineage{};
  std::vector<std::string> runs{};  // ids: the run itself, then those that it continues; empty without records
  std::string pictures_hash{};      // the pictures alone, whatever the batches; "" in states of earlier versions
  std::string picture_times{};      // hash of when their files were written; likewise
  std::map<std::string, std::string> options;  // as a user would write them; only those that are set
};

// The parts of a run that have a state. All must outlive the struct; `ema` may be null.
struct StatefulParts {
  optim::FlatParameters& parameters;
  optim::Optimizer& optimizer;
  Ema* ema;
  GradientScaler& scaler;
  TrainingLog& log;
  Validation& validation;
  std::map<std::string, int64_t>& saved_files;  // stem -> step, of the network files of this run
};

// Copies of everything at a step boundary, so that the training goes on while they are written.
struct StateSnapshot {
  RunPosition position;
  optim::NamedTensors parameters;
  optim::NamedTensors optimizer;
  optim::NamedTensors ema;
  std::string json;  // state.json
};
StateSnapshot take_snapshot(const StatefulParts& parts, const RunPosition& position, const RunIdentity& identity);

// Throws Error{Io} or Error{OutOfSpace}; an older folder of that name is replaced at once, or stays.
void write_state(const std::filesystem::path& folder, const StateSnapshot& snapshot);

struct SavedState {
  std::filesystem::path folder;
  RunPosition position;
  RunIdentity identity;
};
// Verifies every file of the folder. Throws Error{Format} that names the file that is not as it was written, Error{Io}
// for a folder that is no state of this program.
SavedState open_state(const std::filesystem::path& folder);
// Without looking at the other files.
struct StateSummary {
  int64_t step = -1;  // -1: this is no state
  std::string lineage{};
  int64_t saved_ms = 0;             // since 1970; 0: not known
  std::vector<std::string> runs{};  // RunIdentity::runs
};
StateSummary summary_of_state(const std::filesystem::path& folder);

// Puts the state into the parts of a run that was made with the same options. Throws Error{Config} when the trainable
// weights or the optimizer are others.
void restore_state(const SavedState& state, const StatefulParts& parts);

// Over names, sizes, captions and repeats of all pictures and the batch sizes: when it is the same, so are the batches.
std::string data_fingerprint(const std::vector<data::Dataset>& datasets);

}  // namespace cinnabar::train
