#include "cinnabar/adapters/adapter_options.h"

#include <initializer_list>

#include "cinnabar/adapters/registry.h"
#include "cinnabar/schema/key_values.h"

namespace cinnabar::adapters {

namespace {

// network_args alone: without fallbacks, so that what is not given there does not hide the option of the same name.
schema::Values network_args(const schema::Values& values) {
  const std::string kind = values.maybe_text("network_module").value_or("networks.lora");
  std::vector<schema::Option> rows = adapter_descriptions().at(kind).options;
  for (schema::Option& row : rows) row.fallback = {};
  return schema::read_key_values("network_args", values.texts("network_args"), rows);
}

Alpha alpha_of(const schema::Values& values, const std::string& name, const Alpha& fallback) {
  if (!values.has(name)) return fallback;
  return {values.number(name), std::holds_alternative<int64_t>(values.raw(name))};
}

std::string name_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The given ones of `names`.
std::vector<std::string> given(const schema::Values& args, std::initializer_list<const char*> names) {
  std::vector<std::string> result;
  for (const char* name : names) {
    if (args.has(name)) result.emplace_back(name);
  }
  return result;
}

void note_idle_block_args(const schema::Values& args, AdapterOptions& options) {
  std::vector<std::string> idle;
  if (!options.blocks.is_on()) idle = given(args, {"block_alphas", "conv_block_dims", "conv_block_alphas"});
  if (options.blocks.is_on() && options.blocks.conv_dims.empty()) idle = given(args, {"conv_block_alphas"});
  if (!idle.empty()) {
    options.notes.push_back(name_list(idle) + " in network_args: no effect, as in sd-scripts, without " +
                            (options.blocks.is_on() ? "conv_block_dims." : "block_dims or a rate of blocks."));
  }
  if (args.has("block_lr_zero_threshold") && !options.blocks.has_weights()) {
    options.notes.emplace_back("block_lr_zero_threshold in network_args: no effect without a rate of blocks.");
  }
}

// The reference tool makes the network from the file then, and hands on nothing but the rates of blocks.
void take_ranks_from_file(const schema::Values& args, AdapterOptions& options) {
  std::vector<std::string> idle =
      given(args, {"conv_dim", "conv_alpha", "network_dropout", "rank_dropout", "module_dropout", "loraplus_lr_ratio",
                   "loraplus_unet_lr_ratio", "loraplus_text_encoder_lr_ratio", "block_dims", "block_alphas",
                   "conv_block_dims", "conv_block_alphas"});
  if (options.network_dropout != 0.0 && !args.has("network_dropout")) idle.emplace_back("network_dropout");
  if (!idle.empty()) {
    options.notes.push_back(name_list(idle) +
                            ": no effect with dim_from_weights, as in sd-scripts: ranks and alphas are those of the "
                            "file, and there is neither dropout nor LoRA+.");
  }
  options.network_dropout = options.rank_dropout = options.module_dropout = 0.0;
  options.conv_dim.reset();
  options.loraplus_lr_ratio.reset();
  options.loraplus_unet_lr_ratio.reset();
  options.loraplus_text_encoder_lr_ratio.reset();
  options.blocks = {.down = options.blocks.down,
                    .mid = options.blocks.mid,
                    .up = options.blocks.up,
                    .zero_threshold = options.blocks.zero_threshold};
}

}  // namespace

AdapterOptions adapter_options(const schema::Values& values) {
  const schema::Values args = network_args(values);
  const auto from = [&](const std::string& name) -> const schema::Values& { return args.has(name) ? args : values; };
  AdapterOptions options;
  options.network_dim = values.maybe_integer("network_dim").value_or(options.network_dim);
  options.network_alpha = alpha_of(values, "network_alpha", options.network_alpha);
  options.network_dropout = from("network_dropout").maybe_number("network_dropout").value_or(0.0);
  options.conv_dim = from("conv_dim").maybe_integer("conv_dim");
  // Always a fraction, whole or not: the reference tool converts it.
  options.conv_alpha = {from("conv_alpha").maybe_number("conv_alpha").value_or(1.0), false};
  options.rank_dropout = from("rank_dropout").maybe_number("rank_dropout").value_or(0.0);
  options.module_dropout = from("module_dropout").maybe_number("module_dropout").value_or(0.0);
  options.train_unet = !values.flag("network_train_text_encoder_only");
  options.train_text_encoder = !values.flag("network_train_unet_only");
  if (!options.train_unet && !options.train_text_encoder) {
    throw base::Error(base::ErrorCode::Config,
                      "network_train_unet_only and network_train_text_encoder_only are both set, so nothing would be "
                      "trained: remove one");
  }
  options.seed = static_cast<uint64_t>(values.maybe_integer("seed").value_or(0));
  // 0 counts as not given, as in the reference tool.
  const auto ratio = [&](const std::string& name) {
    const std::optional<double> value = args.maybe_number(name);
    return value && *value != 0.0 ? value : std::nullopt;
  };
  options.loraplus_lr_ratio = ratio("loraplus_lr_ratio");
  options.loraplus_unet_lr_ratio = ratio("loraplus_unet_lr_ratio");
  options.loraplus_text_encoder_lr_ratio = ratio("loraplus_text_encoder_lr_ratio");
  options.blocks = read_block_options(args);
  if (values.flag("dim_from_weights")) {
    take_ranks_from_file(args, options);
  } else {
    note_idle_block_args(args, options);
  }
  return options;
}

}  // namespace cinnabar::adapters
