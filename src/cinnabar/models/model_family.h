// The registry of model families. A new family is one folder below models/ with one CINNABAR_REGISTER_MODEL_FAMILY.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cinnabar/base/registry.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/diffusion_model.h"

namespace cinnabar::models {

struct LoadOptions {
  at::ScalarType dtype = at::kFloat;  // of the frozen weights
  at::ScalarType vae_dtype = at::kFloat;
  at::Device device = at::kCPU;
  std::optional<bool> v_parameterization{};  // the user's word; reported when the file says otherwise
  std::string vae_path{};                    // a separate autoencoder, or empty
  // SDXL: the projection of pooled states in single files is used as sd-scripts does, not as open_clip stores it.
  bool has_sdscripts_projection = false;
  // Parts are checked at once, but read from the file when they are first used: what is never used (an autoencoder
  // whose results are cached) is never read, and what is released leaves its memory to the part that is used next.
  bool is_lazy = false;
  // The denoiser's frozen weights keep the file's type where that is narrower: less memory, slower.
  bool keeps_file_types = false;
  // The file that is loaded; set by load_model. Weights may be read from its mapping as long as the model lives.
  std::shared_ptr<const formats::Checkpoint> source{};
};

struct InitOptions {
  std::string size = "tiny";  // "tiny" or "full"
  uint64_t seed = 0;
};

struct ModelFamily {
  std::string help;
  // Looks at tensor names and shapes only.
  std::function<bool(const formats::Checkpoint&)> recognises;
  std::function<std::unique_ptr<DiffusionModel>(const formats::Checkpoint&, const LoadOptions&)> load;
  // Random weights under the single-file names.
  std::function<std::unique_ptr<DiffusionModel>(const InitOptions&)> create;
};

base::Registry<ModelFamily>& model_families();

// Finds the family by content and loads the model. Throws Error{Format} that lists what was looked for when none fits.
std::unique_ptr<DiffusionModel> load_model(const std::string& path, const LoadOptions& options);

// All parameters under their parts' prefixes and the modules' own names. Valid while the model lives.
NamedTensors state_tensors(DiffusionModel& model);
// What a single file of the model holds, under its names; partly copies.
NamedTensors file_tensors(DiffusionModel& model);

}  // namespace cinnabar::models

#define CINNABAR_REGISTER_MODEL_FAMILY(name, ...) \
  static const bool registered_family_##name = ::cinnabar::models::model_families().add(#name, __VA_ARGS__)
