#ifdef CINNABAR_ENGINE

#include "cinnabar/samplers/sampler.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "cinnabar/base/random_stream.h"
#include "cinnabar/samplers/entry.h"

namespace cinnabar::samplers {

namespace {

// Stream item `item` of every seed: 0 is the first noise, call + 1 the noise of a call.
at::Tensor noise_of(const std::vector<uint64_t>& seeds, at::IntArrayRef shape, uint64_t item) {
  std::vector<int64_t> batch_shape{static_cast<int64_t>(seeds.size())};
  batch_shape.insert(batch_shape.end(), shape.begin(), shape.end());
  at::Tensor noise = at::empty(batch_shape, at::kFloat);
  const auto count = static_cast<size_t>(noise.numel()) / seeds.size();
  for (size_t i = 0; i < seeds.size(); ++i) {
    base::RandomStream stream(seeds[i], base::Purpose::SamplerNoise, item);
    stream.fill_normal({noise.mutable_data_ptr<float>() + i * count, count});
  }
  return noise;
}

}  // namespace

base::Registry<SamplerFactory>& factories() {
  static base::Registry<SamplerFactory> registry("sampler");
  return registry;
}

SamplerOptions with_values(SamplerOptions options, const schema::Values& values) {
  options.has_karras_sigmas = values.flag("karras_sigmas");
  options.timestep_spacing = values.maybe_text("timestep_spacing").value_or("");
  options.clips_sample = values.flag("clip_sample");
  options.noise_table = values.maybe_text("sample_noise_table").value_or("auto");
  options.solver_order = values.maybe_integer("solver_order").value_or(0);
  return options;
}

std::vector<std::string> unused_options(const std::string& name, const schema::Values& values) {
  std::vector<std::string> given;
  for (const char* flag : {"karras_sigmas", "clip_sample"}) {
    if (values.flag(flag)) given.emplace_back(flag);
  }
  if (values.maybe_text("timestep_spacing")) given.emplace_back("timestep_spacing");
  if (values.maybe_integer("solver_order")) given.emplace_back("solver_order");
  const std::vector<schema::Option>& rows = entries().at(name).options;
  std::erase_if(given, [&](const std::string& option) {
    return std::any_of(rows.begin(), rows.end(), [&](const schema::Option& row) { return row.name == option; });
  });
  return given;
}

std::vector<double> table_shares(const SamplerOptions& options) {
  const at::Tensor table = options.alphas_cumprod.to(at::kCPU, at::kDouble).contiguous();
  return {table.const_data_ptr<double>(), table.const_data_ptr<double>() + table.numel()};
}

std::unique_ptr<Sampler> make_sampler(const std::string& name, const SamplerOptions& options) {
  const Entry& entry = entries().at(name);
  CINNABAR_ASSERT(options.alphas_cumprod.defined() && options.alphas_cumprod.dim() == 1);
  const int64_t table_steps = options.alphas_cumprod.size(0);
  if (options.steps < 1 || options.steps > table_steps) {
    throw base::Error(base::ErrorCode::Config, "sample steps = " + std::to_string(options.steps) + ": expected 1 to " +
                                                   std::to_string(table_steps) +
                                                   ", the length of the model's noise table");
  }
  return factories().at(entry.alias_of.empty() ? name : entry.alias_of)(options);
}

at::Tensor run_sampler(Sampler& sampler, at::Tensor x, const Model& model, const NoiseFunction& noise,
                       const StepCallback& on_step) {
  const at::NoGradGuard no_grad;
  const auto calls = static_cast<int64_t>(sampler.timesteps().size());
  for (int64_t call = 0; call < calls; ++call) {
    const at::Tensor prediction = model(sampler.scale_input(x, call), sampler.timesteps()[static_cast<size_t>(call)]);
    x = sampler.step(call, x, prediction.to(x.scalar_type()), noise);
    if (on_step) on_step(call, x);
  }
  return x;
}

at::Tensor initial_noise(const std::vector<uint64_t>& seeds, at::IntArrayRef shape) {
  return noise_of(seeds, shape, 0);
}

NoiseFunction seeded_noise(const std::vector<uint64_t>& seeds) {
  return [seeds](int64_t call, const at::Tensor& x) {
    CINNABAR_ASSERT(x.size(0) == static_cast<int64_t>(seeds.size()));
    return noise_of(seeds, x.sizes().slice(1), static_cast<uint64_t>(call) + 1).to(x.device(), x.scalar_type());
  };
}

}  // namespace cinnabar::samplers

#endif  // CINNABAR_ENGINE
