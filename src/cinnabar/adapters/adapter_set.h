// The adapters of one network on the layers of a model: attached, trained, loaded, saved and merged together.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cinnabar/adapters/block_plan.h"
#include "cinnabar/adapters/layer_adapter.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/diffusion_model.h"

namespace cinnabar::adapters {

// One trainable tensor. `value` is a leaf that requires gradients; replacing it by a view of a flat buffer is allowed.
struct NamedParameter {
  std::string name;  // "lora_unet_mid_block_attentions_0_proj_in.lora_down.weight"
  std::string part;  // "text_encoder" or "unet"
  at::Tensor* value = nullptr;
};

// Parameters with one learning rate. `label` is the reference tool's: "textencoder", "unet", or "unet_block3" where
// blocks have rates of their own, with " plus" for LoRA+; "textencoder 1" and so on where the encoders' rates differ.
struct ParameterGroup {
  std::string label;
  double lr = 0.0;
  std::vector<NamedParameter> parameters{};
};

struct PartRates {
  double unet = 1e-4;
  double text_encoder = 1e-4;
  // One rate a text encoder, over `text_encoder` when given; the last one counts for all further encoders.
  std::vector<double> text_encoders{};
};

// Norms of the updates of all layers after AdapterSet::limit_norms.
struct NormReport {
  int64_t scaled = 0;  // layers that were over the limit
  double average = 0.0;
  double largest = 0.0;
};

struct LoadReport {
  size_t loaded = 0;                     // layers
  std::vector<std::string> unmatched{};  // keys of the file that fit no layer of the model (or no adapter of the set)
  std::vector<std::string> missing{};    // adapters of the set that the file lacks
};

// Not movable into another model: it keeps pointers to the model's layers, which must outlive it.
class AdapterSet {
 public:
  // Makes adapters of `kind` (a name of the registry) for the chosen parts and attaches them. Throws Error{Config} for
  // an unknown kind, and when no layer takes one.
  AdapterSet(const std::string& kind, const std::vector<models::AdapterTarget>& targets, const AdapterOptions& options);

  // Makes and attaches what the file holds, with the file's ranks and scales; the kind is found from the keys of each
  // layer. Of the options, dropouts, the trained parts and the rates of blocks count. Several sets may be attached to
  // one model. Throws Error{Format} when no key fits the model.
  static std::unique_ptr<AdapterSet> from_file(const std::vector<models::AdapterTarget>& targets,
                                               const formats::Checkpoint& file, const AdapterOptions& options = {},
                                               LoadReport* report = nullptr);

  AdapterSet(const AdapterSet&) = delete;
  AdapterSet& operator=(const AdapterSet&) = delete;

  const std::string& kind() const { return kind_; }
  size_t size() const { return items_.size(); }
  // Of the model, as far as adapters may be on them.
  size_t text_encoder_count() const { return text_parts_.size(); }
  // What of the options was changed or does nothing, in words for the user.
  const std::vector<std::string>& notes() const { return notes_; }

  // In the reference tool's order: text encoders first, per layer down then up. Without frozen ones.
  std::vector<NamedParameter> parameters();
  // The adapters of these layers stay as they are: in no group and without gradient, but acting and saved.
  void freeze(const std::function<bool(const models::AdapterTarget&)>& is_frozen);
  // Groups for the optimizer. Parts with rate 0 are left out and frozen, so that they neither get a gradient nor count
  // in the norm that clipping looks at.
  std::vector<ParameterGroup> parameter_groups(const PartRates& rates);

  // The running step, for dropouts. Also ends training mode: set_step({}) before a preview.
  void set_step(const StepContext& step) { *context_ = step; }
  // Scales the update of every layer to a Frobenius norm of at most `most` (scale_weight_norms). Nothing when no
  // layer's kind can do that. Waits for the device.
  std::optional<NormReport> limit_norms(double most);

  // Strength of the whole set, 0 switches it off.
  void set_multiplier(double multiplier);

  // Copies a file's values into this set (network_weights). Keys that fit nothing are reported, not loaded.
  LoadReport load(const formats::Checkpoint& file);

  // Everything under kohya's keys, contiguous on the CPU (the live tensors themselves where nothing has to be
  // converted). `dtype` casts all tensors, alphas too; without it weights keep their dtype, and alphas are I64 or F32
  // as the option was given.
  std::vector<std::pair<std::string, at::Tensor>> file_tensors(
      std::optional<at::ScalarType> dtype = std::nullopt) const;
  // Adds sshs_model_hash and sshs_legacy_hash to `metadata` and writes a safetensors file. Keys starting with "ss_"
  // enter the legacy hash. Under .ckpt and .pt a torch.save file is written, which holds no metadata. Throws Error{Io}
  // or Error{OutOfSpace}.
  void save(const std::filesystem::path& path, std::map<std::string, std::string> metadata,
            std::optional<at::ScalarType> dtype = std::nullopt) const;

  // What save() does with `values`, as file_tensors gives them or copies of them.
  static void write_file(const std::filesystem::path& path,
                         const std::vector<std::pair<std::string, at::Tensor>>& values,
                         std::map<std::string, std::string> metadata);

  // weight += strength * delta for every layer, computed in fp32 and rounded to the weight's dtype. Detaches.
  void merge(double strength);
  // Takes the adapters off the layers; the set can still be saved. merge() does it, too.
  void detach();

 private:
  struct Item {
    models::AdapterTarget target;
    std::shared_ptr<LayerAdapter> adapter;
    bool is_frozen = false;
  };

  AdapterSet();
  void attach(const models::AdapterTarget& target, std::shared_ptr<LayerAdapter> adapter);
  void read_targets(const std::vector<models::AdapterTarget>& targets);
  std::optional<LayerRank> block_rank(const models::AdapterTarget& target) const;
  // The group of a parameter, without LoRA+: its label and rate.
  std::pair<std::string, double> group_of(const NamedParameter& parameter, const PartRates& rates) const;

  std::string kind_;
  AdapterOptions options_;
  std::optional<BlockPlan> blocks_;
  std::vector<std::string> text_parts_;  // of the model, in its order
  std::vector<std::string> notes_;
  std::shared_ptr<StepContext> context_;
  std::vector<Item> items_;
};

}  // namespace cinnabar::adapters
