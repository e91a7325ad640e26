// A small model of the SD 1 layout, and checkpoints that hold it in one layout or another.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/sd/sd_model.h"

namespace cinnabar::models::sd {

// Two U-Net levels of widths 16 and 32 (attention in the second), two autoencoder levels, two text layers of width 12,
// vocabulary 50, 9 positions; random weights. Groups and heads are as the published rules say.
SdConfig small_config();
std::unique_ptr<SdModel> small_model(uint64_t seed = 1);

// Tensors in memory, as if read from a file.
class MemoryCheckpoint : public formats::Checkpoint {
 public:
  MemoryCheckpoint() { path_ = "small.safetensors"; }
  // A copy of the other's tensors and settings.
  void set(const std::string& name, const at::Tensor& value);
  void erase(const std::string& name) { tensors_.erase(name); }
  void set_metadata(const std::string& key, const std::string& value) { metadata_[key] = value; }
  void set_side_json(const std::string& json) { side_json_ = json; }

 private:
  std::map<std::string, at::Tensor> kept_;
};

// The model's tensors under single-file names, renamed by `rename` if given; an empty new name leaves the tensor out.
std::unique_ptr<MemoryCheckpoint> checkpoint_of(DiffusionModel& model,
                                                const std::function<std::string(const std::string&)>& rename = {});

// Through the registry, family "sd1".
std::unique_ptr<DiffusionModel> load_sd1(const formats::Checkpoint& checkpoint, const LoadOptions& options = {});

}  // namespace cinnabar::models::sd
