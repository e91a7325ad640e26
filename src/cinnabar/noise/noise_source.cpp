#ifdef CINNABAR_ENGINE

#include "cinnabar/noise/noise_source.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>

#include "cinnabar/noise/entry.h"

namespace cinnabar::noise {

namespace {

std::vector<std::string> modifier_names_in_order() {
  std::vector<std::string> names = modifiers().names();
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return entries().at(a).order < entries().at(b).order;
  });
  return names;
}

}  // namespace

NoiseSource::NoiseSource(const schema::Values& values, int64_t table_steps)
    : min_timestep_(values.maybe_integer("min_timestep").value_or(0)),
      max_timestep_(values.maybe_integer("max_timestep").value_or(table_steps)) {
  // As in the reference, a range that is empty means its upper end alone.
  if (min_timestep_ >= max_timestep_) {
    min_timestep_ = max_timestep_;
    max_timestep_ += 1;
  }
  if (min_timestep_ < 0 || max_timestep_ > table_steps) {
    throw base::Error(base::ErrorCode::Config,
                      "min_timestep " + std::to_string(min_timestep_) + " and max_timestep " +
                          std::to_string(max_timestep_) + " leave the noise table of " + std::to_string(table_steps) +
                          " steps: expected 0 <= min_timestep < max_timestep <= " + std::to_string(table_steps));
  }
  for (const std::string& name : modifier_names_in_order()) {
    if (auto modifier = modifiers().at(name)(values)) modifiers_.push_back(std::move(modifier));
  }
}

BatchNoise NoiseSource::draw(const at::Tensor& latents, std::span<const SampleKey> keys) const {
  CINNABAR_ASSERT(latents.dim() == 4 && latents.size(0) == static_cast<int64_t>(keys.size()));
  const at::Tensor reference = modifiers_.empty() ? latents : latents.detach().to(at::kCPU, at::kFloat);
  std::vector<at::Tensor> noises;
  std::vector<at::Tensor> inputs;
  std::vector<int64_t> timesteps;
  bool is_perturbed = false;
  for (size_t i = 0; i < keys.size(); ++i) {
    const SampleKey& key = keys[i];
    base::RandomStream stream(key.seed, base::Purpose::Noise, key.step, key.sample);
    SampleNoise draw{normal_tensor(stream, {1, latents.size(1), latents.size(2), latents.size(3)}), {}};
    for (const auto& modifier : modifiers_) {
      modifier->apply(draw, reference.narrow(0, static_cast<int64_t>(i), 1), key);
    }
    is_perturbed = is_perturbed || draw.input_noise.defined();
    noises.push_back(draw.noise);
    inputs.push_back(draw.input_noise.defined() ? draw.input_noise : draw.noise);
    base::RandomStream time(key.seed, base::Purpose::Timestep, key.step, key.sample);
    timesteps.push_back(time.integer(min_timestep_, max_timestep_));
  }
  BatchNoise batch;
  batch.noise = at::cat(noises).to(latents.device());
  batch.input_noise = is_perturbed ? at::cat(inputs).to(latents.device()) : batch.noise;
  batch.timesteps = at::tensor(timesteps, at::kLong);
  return batch;
}

}  // namespace cinnabar::noise

#endif  // CINNABAR_ENGINE
