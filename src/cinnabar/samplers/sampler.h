// Samplers: from noise to latents by calls of a model, one step at a time or in one go.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/base/registry.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::samplers {

// B batch, C channels, H W latent height and width. Latents are scaled as the model takes them, fp32.
enum class Prediction { Epsilon, Velocity };

struct SamplerOptions {
  int64_t steps = 30;
  Prediction prediction = Prediction::Epsilon;
  at::Tensor alphas_cumprod;       // fp32 [T] of the model's noise table, on the CPU
  std::string timestep_spacing{};  // "" is the sampler's own
  bool has_karras_sigmas = false;
  // Clips the predicted clean latents to [-1, 1] in ddim. The reference does so; latents reach beyond, so it costs
  // contrast.
  bool clips_sample = false;
  int64_t timestep_offset = 0;  // added to the timesteps of "leading"
  // Where a run ends: at the clean picture, or (false) at the first entry of the table. Unset: the sampler's own.
  std::optional<bool> ends_at_clean{};
  std::string noise_table{};  // "", "auto", "plain" or "zero_terminal": which table the caller is to give
  int64_t solver_order = 0;   // of the solvers that have several, 1 to 3; 0 is the sampler's own
  std::string solver_type{};  // a variant of a solver: "heun" of DPM-Solver, "bh1" of UniPC; "" is its own
};

// Adds karras_sigmas, timestep_spacing, clip_sample, solver_order and sample_noise_table of a command's options.
SamplerOptions with_values(SamplerOptions options, const schema::Values& values);
// The names of those that are given but that the sampler `name` does not know.
std::vector<std::string> unused_options(const std::string& name, const schema::Values& values);
// The options' table of signal shares.
std::vector<double> table_shares(const SamplerOptions& options);

// Standard normal noise like `x`, for model call `call`.
using NoiseFunction = std::function<at::Tensor(int64_t call, const at::Tensor& x)>;
// x [B, C, H, W], the model's input; returns its prediction, same shape.
using Model = std::function<at::Tensor(const at::Tensor& x, double timestep)>;
// After each model call; x are the latents so far.
using StepCallback = std::function<void(int64_t call, const at::Tensor& x)>;

class Sampler {
 public:
  virtual ~Sampler() = default;

  // One per model call (some samplers call the model more often than there are steps).
  const std::vector<double>& timesteps() const { return timesteps_; }
  // Noise levels, one more than timesteps, where the sampler works with them; else empty.
  const std::vector<double>& sigmas() const { return sigmas_; }
  // The first x is this times standard normal noise.
  virtual double initial_scale() const { return 1.0; }

  // The model's input of call `call`.
  virtual at::Tensor scale_input(const at::Tensor& x, int64_t /*call*/) const { return x; }
  // x after call `call`. Calls are made in order from 0; 0 starts anew. `noise` may be empty for samplers without
  // noise.
  virtual at::Tensor step(int64_t call, const at::Tensor& x, const at::Tensor& prediction,
                          const NoiseFunction& noise) = 0;

 protected:
  std::vector<double> timesteps_;
  std::vector<double> sigmas_;
};

using SamplerFactory = std::function<std::unique_ptr<Sampler>(const SamplerOptions&)>;
base::Registry<SamplerFactory>& factories();

// By name or alias. Throws Error{Config} for an unknown name and for options that do not fit.
std::unique_ptr<Sampler> make_sampler(const std::string& name, const SamplerOptions& options);

// All steps from x = initial_scale() * noise. Returns the clean latents.
at::Tensor run_sampler(Sampler& sampler, at::Tensor x, const Model& model, const NoiseFunction& noise,
                       const StepCallback& on_step = {});

// Noise that depends on each picture's seed alone, not on the batch. `shape`: [C, H, W] of one picture; result
// [B, C, H, W] with one seed a picture.
at::Tensor initial_noise(const std::vector<uint64_t>& seeds, at::IntArrayRef shape);
NoiseFunction seeded_noise(const std::vector<uint64_t>& seeds);

}  // namespace cinnabar::samplers

#define CINNABAR_REGISTER_SAMPLER_FACTORY(identifier, name, ...) \
  static const bool registered_sampler_factory_##identifier = ::cinnabar::samplers::factories().add(name, __VA_ARGS__)
