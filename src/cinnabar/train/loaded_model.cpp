#include "cinnabar/train/loaded_model.h"

#include "cinnabar/base/error.h"
#include "cinnabar/base/input_event.h"
#include "cinnabar/base/mapped_pages.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/base/user_cache.h"
#include "cinnabar/data/content_hash.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/tensor/device.h"
#include "cinnabar/tensor/dtype.h"
#include "cinnabar/tensor/finite_file.h"
#include "cinnabar/train/family_checks.h"
#include "cinnabar/train/finite_models.h"

namespace cinnabar::train {

namespace {

// Hashes are remembered in the user's cache folder: a model of several GB is read once, not at each start.
std::filesystem::path remembered_in(const char* name) {
  const std::filesystem::path folder = base::user_cache_folder();
  return folder.empty() ? folder : folder / name;
}

// Reads a file through that is not known to hold numbers only.
void check_finite_model(const std::string& path, const std::string& hash, FiniteModels& known, bool is_allowed,
                        base::EventSink& events) {
  if (known.has(hash)) return;
  if (tensor::check_finite_file(*formats::Checkpoint::open(path), is_allowed, events)) known.add(hash);
}

std::string low_memory_text(at::Device device) {
  if (!device.is_cpu())
    return "lowram changes nothing here: models go straight into the memory of the device in any case.";
  return "lowram: weights stay in the file's type, and intermediate values are computed twice instead of being kept. "
         "The numbers are the same; a step takes about twice as long.";
}

}  // namespace

WeightBytes weight_bytes(const LoadedModel& base) {
  WeightBytes bytes;
  base.model->each_part([&](nn::Module& part) {
    part.each_parameter("", [&](const std::string&, at::Tensor& value) {
      if (!value.device().is_cpu()) return;
      const std::span<const std::byte> held(static_cast<const std::byte*>(value.const_data_ptr()), value.nbytes());
      bytes.all += static_cast<int64_t>(held.size());
      if (base::is_mapped(held)) bytes.mapped += static_cast<int64_t>(held.size());
    });
  });
  return bytes;
}

void check_mapped_files(const LoadedModel& base) {
  if (weight_bytes(base).mapped > 0) base.files.check();
}

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

bool is_low_memory(const schema::Values& values, at::Device device) { return values.flag("lowram") && device.is_cpu(); }

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
  // What is cached is never read, and text encoders and autoencoder can go before the denoiser comes.
  options.is_lazy = true;
  options.keeps_file_types = is_low_memory(values, loaded.device);
  events.phase("Loading the model");
  if (values.flag("lowram")) events.log(low_memory_text(loaded.device));
  loaded.model = models::load_model(path, options);
  for (const std::string& note : loaded.model->info().notes) events.log(note);
  check_family_options(values, loaded.model->info(), events);
  loaded.is_vae_float = options.vae_dtype == at::kFloat;
  data::ContentHashes hashes(remembered_in("model_hashes.txt"));
  FiniteModels known(remembered_in("finite_models.txt"));
  const bool is_nonfinite_allowed = values.flag("allow_nonfinite");
  loaded.hash = loaded.files.add(path, hashes);
  check_finite_model(path, loaded.hash, known, is_nonfinite_allowed, events);
  loaded.vae_hash = loaded.hash;
  base::tell_input(events, {.kind = "model", .path = path, .sha256 = loaded.hash});
  if (!options.vae_path.empty()) {
    const std::string hash = loaded.files.add(options.vae_path, hashes);
    check_finite_model(options.vae_path, hash, known, is_nonfinite_allowed, events);
    base::tell_input(events, {.kind = "vae", .path = options.vae_path, .sha256 = hash});
    loaded.vae_hash += "+" + hash;
  }
  loaded.vae_hash += precision_suffix(options.vae_dtype);
  hashes.save();
  return loaded;
}

}  // namespace cinnabar::train
