#include "cinnabar/train/loaded_model.h"

#include <cstdlib>

#include "cinnabar/base/error.h"
#include "cinnabar/base/input_event.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/content_hash.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/tensor/device.h"
#include "cinnabar/tensor/dtype.h"
#include "cinnabar/tensor/finite_file.h"
#include "cinnabar/train/family_checks.h"

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

std::string precision_suffix(at::ScalarType dtype) {
  if (dtype == at::kFloat) return {};
  return dtype == at::kHalf ? "+fp16" : "+bf16";
}

at::Tensor encoded_moments(LoadedModel& base, const at::Tensor& pixels, base::EventSink& events) {
  const at::Tensor moments = base.model->encode_moments(pixels.to(base.device)).to(at::kFloat);
  if (base.is_vae_float || moments.isfinite().all().item<bool>()) return moments;
  base.is_vae_float = true;
  events.warning(
      "The autoencoder's latents are not finite in half precision: it is used in float32 from here on, as with "
      "--no_half_vae");
  base.model->vae().to(at::kFloat);
  return base.model->encode_moments(pixels.to(base.device)).to(at::kFloat);
}

LoadedModel load_run_model(const schema::Values& values, base::EventSink& events) {
  LoadedModel loaded;
  loaded.device = tensor::device_from(values.maybe_text("device").value_or("auto"));
  loaded.dtype = tensor::precision_from(values.maybe_text("mixed_precision").value_or("no"));
  const std::string path =
      base::resolved(values.text("pretrained_model_name_or_path"), "embedded/model.safetensors").string();
  models::LoadOptions options;
  options.dtype = loaded.dtype;
  options.vae_dtype = values.flag("no_half_vae") ? at::kFloat : loaded.dtype;
  options.device = loaded.device;
  if (values.flag("v_parameterization")) options.v_parameterization = true;
  options.vae_path = values.maybe_text("vae").value_or("");
  options.has_sdscripts_projection = values.flag("sdscripts_text_projection");
  events.phase("Loading the model");
  loaded.model = models::load_model(path, options);
  const bool is_nonfinite_allowed = values.flag("allow_nonfinite");
  tensor::check_finite_file(*formats::Checkpoint::open(path), is_nonfinite_allowed, events);
  if (!options.vae_path.empty())
    tensor::check_finite_file(*formats::Checkpoint::open(options.vae_path), is_nonfinite_allowed, events);
  for (const std::string& note : loaded.model->info().notes) events.log(note);
  check_family_options(values, loaded.model->info(), events);
  for (const models::ModelPart& part : loaded.model->parts()) part.module->requires_grad(false);
  loaded.model->vae().requires_grad(false);
  loaded.is_vae_float = options.vae_dtype == at::kFloat;
  data::ContentHashes hashes(hash_index());
  loaded.hash = hash_of(hashes, path);
  loaded.vae_hash = loaded.hash + (options.vae_path.empty() ? "" : "+" + hash_of(hashes, options.vae_path)) +
                    precision_suffix(options.vae_dtype);
  base::tell_input(events, {.kind = "model", .path = path, .sha256 = loaded.hash});
  if (!options.vae_path.empty()) {
    base::tell_input(events, {.kind = "vae", .path = options.vae_path, .sha256 = hash_of(hashes, options.vae_path)});
  }
  hashes.save();
  return loaded;
}

}  // namespace cinnabar::train
