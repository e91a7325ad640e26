#include "cinnabar/train/loaded_model.h"

#include <cstdlib>

#include "cinnabar/base/error.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/content_hash.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/tensor/device.h"

namespace cinnabar::train {

namespace {

// Hashes are remembered in the user's cache folder: a model of several GB is read once, not at each start.
std::filesystem::path hash_index() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (cache != nullptr && *cache != '\0') {
    folder = std::filesystem::path(cache) / "cinnabar";
  } else if (home != nullptr && *home != '\0') {
    folder = std::filesystem::path(home) / ".cache" / "cinnabar";
  } else {
    return {};
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? std::filesystem::path() : folder / "model_hashes.txt";
}

std::string hash_of(data::ContentHashes& hashes, const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return hashes.of(path);
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    const std::string extension = entry.path().extension().string();
    const bool has_weights = extension == ".safetensors" || extension == ".bin";
    if (entry.is_regular_file() && has_weights) all += hashes.of(entry.path()) + "\n";
  }
  return base::sha256_hex(all);
}

}  // namespace

LoadedModel load_run_model(const schema::Values& values, base::EventSink& events) {
  LoadedModel loaded;
  loaded.device = tensor::device_from(values.maybe_text("device").value_or("auto"));
  const bool is_bf16 = values.maybe_text("mixed_precision").value_or("no") == "bf16";
  loaded.dtype = is_bf16 ? at::kBFloat16 : at::kFloat;
  const std::string path =
      base::resolved(values.text("pretrained_model_name_or_path"), "embedded/model.safetensors").string();
  models::LoadOptions options;
  options.dtype = loaded.dtype;
  options.vae_dtype = values.flag("no_half_vae") ? at::kFloat : loaded.dtype;
  options.device = loaded.device;
  if (values.flag("v_parameterization")) options.v_parameterization = true;
  options.vae_path = values.maybe_text("vae").value_or("");
  events.phase("Loading the model");
  loaded.model = models::load_model(path, options);
  for (const std::string& note : loaded.model->info().notes) events.log(note);
  for (const models::ModelPart& part : loaded.model->parts()) part.module->requires_grad(false);
  loaded.model->vae().requires_grad(false);
  data::ContentHashes hashes(hash_index());
  loaded.hash = hash_of(hashes, path);
  loaded.vae_hash = loaded.hash + (options.vae_path.empty() ? "" : "+" + hash_of(hashes, options.vae_path)) +
                    (options.vae_dtype == at::kFloat ? "" : "+bf16");
  hashes.save();
  return loaded;
}

}  // namespace cinnabar::train
