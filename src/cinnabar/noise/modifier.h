// What a noise setting does to the noise of one training sample.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <ATen/core/Tensor.h>

#include "cinnabar/base/random_stream.h"
#include "cinnabar/base/registry.h"
#include "cinnabar/schema/values.h"

namespace cinnabar::noise {

// Names one draw. Everything random about a sample is a function of this key, so that neither the batch split nor the
// number of processes changes it. The reference draws one strength per batch; here every sample has its own.
struct SampleKey {
  uint64_t seed = 0;
  uint64_t step = 0;    // unique per use of the sample: for instance epoch, or micro-step
  uint64_t sample = 0;  // index in the data set, repeats counted apart
};

struct SampleNoise {
  at::Tensor noise;        // [1, C, H, W] fp32 on the CPU: what the target is made of
  at::Tensor input_noise;  // what the noisy latents are made of; undefined means `noise`
};

class Modifier {
 public:
  virtual ~Modifier() = default;
  // latents: scaled, [1, C, H, W], fp32 on the CPU.
  virtual void apply(SampleNoise& draw, const at::Tensor& latents, const SampleKey& key) const = 0;
};

// Returns null when the values leave the modifier off. Throws Error{Config} for values that contradict each other.
using ModifierFactory = std::function<std::unique_ptr<Modifier>(const schema::Values&)>;
base::Registry<ModifierFactory>& modifiers();

// Standard normal fp32 numbers on the CPU, shaped `shape`; continues the stream.
at::Tensor normal_tensor(base::RandomStream& stream, at::IntArrayRef shape);

}  // namespace cinnabar::noise

#define CINNABAR_REGISTER_NOISE_MODIFIER(identifier, ...)    \
  static const bool registered_noise_modifier_##identifier = \
      ::cinnabar::noise::modifiers().add(#identifier, __VA_ARGS__)
