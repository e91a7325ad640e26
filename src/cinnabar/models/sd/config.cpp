#include "cinnabar/models/sd/config.h"

#include <algorithm>

#include "cinnabar/base/error.h"
#include "cinnabar/models/sd/file_names.h"

namespace cinnabar::models::sd {

namespace {

constexpr int64_t kPublishedGroups = 32;
constexpr int64_t kPublishedUNetHeads = 8;
constexpr int64_t kPublishedTextHeadWidth = 64;

int64_t groups_rule(int64_t first_width) { return std::max<int64_t>(1, std::min(kPublishedGroups, first_width / 4)); }

// Transformer blocks of one input or middle block, 0 where it has no attention.
int64_t depth_of(const NamedViews& views, const std::string& block) {
  return count_indices(views, block + ".1.transformer_blocks.");
}

std::vector<nn::UNetLevel> unet_levels(const NamedViews& views, const std::string& file) {
  std::vector<nn::UNetLevel> levels(1, {.res_blocks = 0});
  const std::string prefix = kUNetPrefix + "input_blocks.";
  const int64_t blocks = count_indices(views, prefix);
  for (int64_t i = 1; i < blocks; ++i) {
    const std::string block = prefix + std::to_string(i);
    if (has_prefix(views, block + ".0.op.")) {
      levels.push_back({.res_blocks = 0});
      continue;
    }
    nn::UNetLevel& level = levels.back();
    ++level.res_blocks;
    level.depth = std::max(level.depth, depth_of(views, block));
    level.width = size_of(views, {block + ".0.out_layers.3.weight", block + ".0.out_layers.0.weight"}, 0, file);
  }
  for (const nn::UNetLevel& level : levels) {
    if (level.res_blocks > 0) continue;
    throw base::Error(base::ErrorCode::Format, file + ": a level of the U-Net has no residual block below " + prefix +
                                                   ": the file is incomplete, or of another model family");
  }
  return levels;
}

[[noreturn]] void refuse_setting(const std::string& file, const std::string& what, int64_t found,
                                 const std::string& expected) {
  throw base::Error(base::ErrorCode::Format, "configuration of " + file + ": " + what + " = " + std::to_string(found) +
                                                 ": expected " + expected);
}

// Groups of the normalisations, which divide the channels.
int64_t checked_groups(int64_t groups, int64_t width, const std::string& what, const std::string& file) {
  if (groups < 1 || width % groups != 0)
    refuse_setting(file, "groups of the " + what, groups, "a divisor of its first width, " + std::to_string(width));
  return groups;
}

// Heads of each level, or one number for all.
std::vector<int64_t> head_counts(const nn::UNetConfig& config, const SideSettings& settings, const std::string& file,
                                 const UNetRule& rule) {
  // The last is diffusers' name for a head count.
  const std::vector<std::string> names{"unet.num_heads", "unet.head_counts_per_level", "unet.num_attention_heads",
                                       "unet.attention_head_dim"};
  if (auto stated = settings.integers(names)) {
    // A list of one is not the same as one number for all levels.
    if (stated->size() == 1 && config.levels.size() > 1) (void)settings.integer(names);
    return *stated;
  }
  const std::optional<int64_t> width = settings.integer({"unet.head_dim", "unet.num_head_channels"});
  for (const nn::UNetLevel& level : config.levels) {
    if (width && (*width < 1 || (level.depth > 0 && level.width % *width != 0)))
      refuse_setting(file, "width of the U-Net's heads", *width, "a divisor of " + std::to_string(level.width));
  }
  const int64_t head_width = width.value_or(rule.head_width.value_or(0));
  if (head_width <= 0) return {kPublishedUNetHeads};
  std::vector<int64_t> counts;
  for (const nn::UNetLevel& level : config.levels) counts.push_back(std::max<int64_t>(1, level.width / head_width));
  return counts;
}

void set_heads(nn::UNetConfig& config, const std::vector<int64_t>& heads, const std::string& file) {
  if (heads.size() != 1 && heads.size() != config.levels.size()) {
    throw base::Error(base::ErrorCode::Format, "configuration of " + file + ": " + std::to_string(heads.size()) +
                                                   " head counts for a U-Net of " +
                                                   std::to_string(config.levels.size()) + " levels");
  }
  for (size_t i = 0; i < config.levels.size(); ++i) config.levels[i].heads = heads.size() == 1 ? heads[0] : heads[i];
  config.middle_heads = heads.back();
  for (const nn::UNetLevel& level : config.levels) {
    if (level.heads < 1 || (level.depth > 0 && level.width % level.heads != 0))
      refuse_setting(file, "heads of the U-Net", level.heads,
                     "a divisor of the level's width, " + std::to_string(level.width));
  }
}

// Names of one setting in each of a text encoder's sections.
std::vector<std::string> setting_names(const TextRule& rule, const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& section : rule.sections) {
    for (const std::string& name : names) result.push_back(section + "." + name);
  }
  return result;
}

// The first cross attention's key projection, whose columns are the context's width.
int64_t context_width_of(const NamedViews& views, const std::string& file) {
  constexpr std::string_view kEnding = ".transformer_blocks.0.attn2.to_k.weight";
  for (auto it = views.lower_bound(kUNetPrefix); it != views.end() && it->first.starts_with(kUNetPrefix); ++it) {
    if (it->first.ends_with(kEnding) && it->second.shape.size() == 2) return it->second.shape[1];
  }
  throw base::Error(base::ErrorCode::Format, file + ": the U-Net has no cross attention (no tensor ends in " +
                                                 std::string(kEnding) +
                                                 "), so the width of the text states cannot be told");
}

}  // namespace

nn::UNetConfig unet_config(const NamedViews& views, const SideSettings& settings, const std::string& file,
                           const UNetRule& rule) {
  nn::UNetConfig config;
  const std::string conv_in = kUNetPrefix + "input_blocks.0.0.weight";
  config.model_channels = size_of(views, {conv_in}, 0, file);
  config.in_channels = size_of(views, {conv_in}, 1, file);
  config.out_channels = size_of(views, {kUNetPrefix + "out.2.weight", kUNetPrefix + "out.2.bias"}, 0, file);
  config.time_width =
      size_of(views, {kUNetPrefix + "time_embed.0.weight", kUNetPrefix + "time_embed.2.weight"}, 0, file);
  config.levels = unet_levels(views, file);
  config.middle_depth = depth_of(views, kUNetPrefix + "middle_block");
  config.context_width = context_width_of(views, file);
  const int64_t first = config.levels.front().width;
  config.groups =
      checked_groups(settings.integer({"unet.group_norm_groups", "unet.norm_num_groups"}).value_or(groups_rule(first)),
                     first, "U-Net's normalisations", file);
  const std::string vector_in = kUNetPrefix + "label_emb.0.0.weight";
  if (views.contains(vector_in)) config.vector_width = size_of(views, {vector_in}, 1, file);
  config.has_linear_projection = rule.has_linear_projection;
  set_heads(config, head_counts(config, settings, file, rule), file);
  return config;
}

nn::AutoencoderConfig vae_config(const NamedViews& views, const SideSettings& settings, const std::string& file) {
  nn::AutoencoderConfig config;
  const std::string down = kVaePrefix + "encoder.down.";
  const std::string up = kVaePrefix + "decoder.up.";
  const int64_t levels = std::max(count_indices(views, down), count_indices(views, up));
  if (levels == 0) {
    throw base::Error(base::ErrorCode::Format, file + ": no autoencoder (no tensor below " + down +
                                                   "): use a checkpoint with one, or name one with --vae");
  }
  for (int64_t i = 0; i < levels; ++i) {
    const std::string number = std::to_string(i);
    config.levels.push_back(
        {.width = size_of(views, {down + number + ".block.0.conv1.weight", down + number + ".block.0.conv2.weight"}, 0,
                          file),
         .encoder_blocks = count_indices(views, down + number + ".block."),
         .decoder_blocks = count_indices(views, up + number + ".block.")});
  }
  config.latent_channels = size_of(views, {kVaePrefix + "decoder.conv_in.weight"}, 1, file);
  config.has_quant_conv =
      has_prefix(views, kVaePrefix + "quant_conv.") || has_prefix(views, kVaePrefix + "post_quant_conv.");
  const int64_t first = config.levels.front().width;
  config.groups =
      checked_groups(settings.integer({"vae.group_norm_groups", "vae.norm_num_groups"}).value_or(groups_rule(first)),
                     first, "autoencoder's normalisations", file);
  return config;
}

nn::ClipTextConfig text_config(const NamedViews& views, const SideSettings& settings, const std::string& file,
                               const TextRule& rule) {
  nn::ClipTextConfig config;
  const std::string model = rule.prefix + "text_model.";
  const std::string layer = model + "encoder.layers.";
  config.vocabulary = size_of(views, {model + "embeddings.token_embedding.weight"}, 0, file);
  config.width = size_of(views, {model + "embeddings.token_embedding.weight"}, 1, file);
  config.positions = size_of(views, {model + "embeddings.position_embedding.weight"}, 0, file);
  config.layers = count_indices(views, layer);
  config.feed_width = size_of(views, {layer + "0.mlp.fc1.weight", layer + "0.mlp.fc1.bias"}, 0, file);
  config.heads = settings.integer(setting_names(rule, {"num_heads", "num_attention_heads"}))
                     .value_or(std::max<int64_t>(1, config.width / kPublishedTextHeadWidth));
  if (config.heads < 1 || config.width % config.heads != 0)
    refuse_setting(file, "heads of the text encoder", config.heads,
                   "a divisor of its width, " + std::to_string(config.width));
  const auto used = settings.integer(setting_names(rule, {"num_layers_used"}));
  if (used && *used != config.layers)
    refuse_setting(file, "num_layers_used of the text encoder", *used,
                   "the layers of the file, " + std::to_string(config.layers) +
                       " (the option clip_skip takes an earlier layer's states)");
  config.activation = nn::activation_from(settings.text(setting_names(rule, {"hidden_act"})).value_or(rule.activation));
  config.norm_epsilon = settings.number(setting_names(rule, {"layer_norm_eps"})).value_or(1e-5);
  if (!(config.norm_epsilon > 0.0 && config.norm_epsilon < 1.0)) {
    throw base::Error(base::ErrorCode::Format, "configuration of " + file +
                                                   ": layer_norm_eps = " + std::to_string(config.norm_epsilon) +
                                                   ": expected a small number above 0, as 1e-5");
  }
  return config;
}

int64_t end_token_of(const nn::ClipTextConfig& config, const SideSettings& settings, const TextRule& rule) {
  // Published configurations carry the number 2 from the time when it was not looked at.
  constexpr int64_t kMeaningless = 2;
  const int64_t stated = settings.integer(setting_names(rule, {"eos_token_id"})).value_or(kMeaningless);
  if (stated < 0 || stated >= config.vocabulary) {
    throw base::Error(base::ErrorCode::Format, "configuration of the model: eos_token_id = " + std::to_string(stated) +
                                                   ": expected a token of the vocabulary of " +
                                                   std::to_string(config.vocabulary));
  }
  return stated == kMeaningless ? config.vocabulary - 1 : stated;
}

SdConfig full_config() {
  SdConfig config;
  config.unet.levels = {
      {.width = 320, .depth = 1}, {.width = 640, .depth = 1}, {.width = 1280, .depth = 1}, {.width = 1280}};
  config.vae.levels = {{.width = 128}, {.width = 256}, {.width = 512}, {.width = 512}};
  return config;
}

SdConfig tiny_config() {
  SdConfig config;
  config.unet = {.model_channels = 32,
                 .time_width = 128,
                 .levels = {{.width = 32, .res_blocks = 1},
                            {.width = 64, .res_blocks = 1, .depth = 1},
                            {.width = 128, .res_blocks = 1, .depth = 1}},
                 .context_width = 64,
                 .groups = 8};
  config.vae = {.levels = {{.width = 32, .encoder_blocks = 1, .decoder_blocks = 2},
                           {.width = 32, .encoder_blocks = 1, .decoder_blocks = 2},
                           {.width = 64, .encoder_blocks = 1, .decoder_blocks = 2}},
                .groups = 8};
  config.text = {.width = 64, .layers = 2, .heads = 1, .feed_width = 256};
  return config;
}

}  // namespace cinnabar::models::sd
