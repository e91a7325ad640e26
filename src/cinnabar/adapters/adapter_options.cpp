#include "cinnabar/adapters/adapter_options.h"

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

}  // namespace

AdapterOptions adapter_options(const schema::Values& values) {
  const schema::Values args = network_args(values);
  const auto from = [&](const std::string& name) -> const schema::Values& { return args.has(name) ? args : values; };
  AdapterOptions options;
  options.network_dim = values.maybe_integer("network_dim").value_or(options.network_dim);
  options.network_alpha = alpha_of(values, "network_alpha", options.network_alpha);
  options.network_dropout = values.maybe_number("network_dropout").value_or(0.0);
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
  return options;
}

}  // namespace cinnabar::adapters
