// The one seam for architectures: what training and sampling may ask of a loaded model, whatever its family.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cinnabar/nn/layer.h"

namespace cinnabar::models {

// How the denoiser is trained: DDPM families predict the noise or the velocity, flow families the difference.
enum class Objective { Epsilon, Velocity, Flow };

struct ModelInfo {
  std::string family;                    // "sd1", later "sd2", "sdxl", "flux", ...
  std::string base_model_version;        // metadata ss_base_model_version, e.g. "sd_v1"
  std::string modelspec_architecture;    // e.g. "stable-diffusion-v1"
  std::string modelspec_implementation;  // of adapter files, e.g. "diffusers"
  Objective objective = Objective::Epsilon;
  bool is_objective_stated = false;  // by the file or what is beside it
  bool zero_terminal_snr = false;
  int64_t latent_channels = 4;
  int64_t downscale = 8;          // pixels per latent on a side
  double latent_scale = 0.18215;  // z = (mean - shift) * scale
  double latent_shift = 0.0;
  int64_t native_side_px = 512;
  int64_t bucket_step_px = 64;       // sides of buckets are multiples of it in sd-scripts
  std::vector<std::string> notes{};  // inferred or overridden settings worth reporting to the user
};

// Token ids of a batch of captions, for each text encoder of the family.
struct Tokens {
  std::vector<at::Tensor> ids;        // one per encoder, int64 [B, chunks, 77]
  std::vector<at::Tensor> weights{};  // like ids, fp32; empty when all are 1
  bool keeps_mean = false;            // weighted states are scaled to the mean of the unweighted ones
};

// What the text side gives to the denoiser. Undefined tensors are not used by the family.
struct Conditioning {
  at::Tensor context;  // [B, T, D]
  at::Tensor pooled;   // [B, P]
  at::Tensor mask;     // [B, T]
  at::Tensor vector;   // [B, V]: all that is added to the timestep's embedding; by default made of the others
  at::Tensor sizes;    // fp32 [B, 6]: height and width of the original, top and left of the crop, height and width of
                       // the picture; for families with size conditioning
};
// All of it on `device`.
Conditioning moved_to(const Conditioning& conditioning, at::Device device);

struct TextOptions {
  int64_t max_token_length = 75;  // 75, 150 or 225
  int64_t clip_skip = 0;          // 0 or 1: last layer
  bool is_weighted = false;       // captions: "(word:1.2)" weighs words, as in prompts
};

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// One trainable part with the prefix of its adapter keys.
struct ModelPart {
  std::string name;            // "unet", "text_encoder"
  std::string adapter_prefix;  // "lora_unet", "lora_te"
  nn::Module* module = nullptr;
  std::string file_prefix{};  // of its names in single files, e.g. "model.diffusion_model."
};

// A layer that adapters may attach to.
struct AdapterTarget {
  std::string name;  // full adapter name, e.g. "lora_unet_down_blocks_0_attentions_0_proj_in"
  std::string part;  // "unet" or "text_encoder"
  nn::Layer* layer = nullptr;
  bool is_extended = false;  // only wrapped when conv_dim is given (children of resnet, down- and upsampling blocks)
  // By diffusers' module names, where `name` follows others: "lora_unet_down_blocks_1_attentions_0_proj_in". Read,
  // never written.
  std::string diffusers_name{};
};

class DiffusionModel {
 public:
  virtual ~DiffusionModel() = default;
  virtual const ModelInfo& info() const = 0;

  virtual Tokens tokenize(const std::vector<std::string>& captions, const TextOptions& options) const = 0;
  // Prompts of pictures: "(word:1.2)" weighs words (text/weighted_prompt.h), and there are as many chunks as the
  // longest prompt needs, options.max_token_length at least and 3 at most. A family without weights reads brackets as
  // text.
  virtual Tokens tokenize_prompts(const std::vector<std::string>& prompts, const TextOptions& options) const {
    return tokenize(prompts, options);
  }
  // Whether the result depends on the layer with these options. Text layers behind clip_skip's state get no gradient:
  // an adapter there is not trained, but saved as it is.
  virtual bool uses(const AdapterTarget& /*target*/, const TextOptions& /*options*/) const { return true; }
  virtual Conditioning encode_text(const Tokens& tokens, const TextOptions& options) = 0;

  // pixels [B, 3, H, W] in [-1, 1] -> moments [B, 2 C, h, w]: mean and log variance (clamped), unscaled.
  virtual at::Tensor encode_moments(const at::Tensor& pixels) = 0;
  // Unscaled latents [B, C, h, w] -> pixels [B, 3, H, W], not clamped.
  virtual at::Tensor decode(const at::Tensor& latents) = 0;
  // noisy [B, C, h, w] (scaled), timesteps [B] in [0, 1000) -> prediction like noisy.
  virtual at::Tensor predict(const at::Tensor& noisy, const at::Tensor& timesteps,
                             const Conditioning& conditioning) = 0;

  // Text encoders first, then the denoiser: the order of learning-rate groups and of metadata.
  virtual std::vector<ModelPart> parts() = 0;
  // The same modules, for settings that need no weights: a part that waits for its first use (LoadOptions::is_lazy) is
  // not read for it.
  virtual void each_part(const std::function<void(nn::Module&)>& visit) {
    for (const ModelPart& part : parts()) visit(*part.module);
  }
  // In file order: text encoders first, then the denoiser, each in module order. Text encoders that wait for their
  // first use are not read for it: whoever looks at their weights calls parts() before.
  virtual std::vector<AdapterTarget> adapter_targets() = 0;
  // Frees the VAE (or a part by its name; "text": all text encoders) once its results are cached. Using it afterwards
  // is Error{Internal}.
  virtual void release(const std::string& part) = 0;
  virtual nn::Module& vae() = 0;
  // The autoencoder with its file prefix; none once it is released.
  virtual std::optional<ModelPart> vae_part() = 0;
  // From the parameters under their parts' prefixes to the tensors of a single file: other names, joined tensors.
  virtual void to_file_layout(NamedTensors& /*tensors*/) const {}
};

}  // namespace cinnabar::models
