// What options demand of each other. Rules of the reference scripts, each reported with the names involved.
#include <algorithm>

#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

class Rules {
 public:
  Rules(const Config& config, const std::map<std::string, Given>& given, Problems& problems)
      : values_(config.values), command_(config.command), given_(given), problems_(problems) {}

  void run() {
    if (command_ == "train" || command_ == "cache") {
      require("pretrained_model_name_or_path", "name the base model: a file, a folder, or embedded");
      if (!has("train_data_dir"))
        add("train_data_dir", "missing: name the folder of training pictures, or embedded");
    }
    if (command_ == "sample") {
      require("pretrained_model_name_or_path", "name the base model: a file, a folder, or embedded");
      if (!has("prompt") && !has("prompt_file"))
        add("prompt", "missing: say what the picture shows (or name a prompt_file)");
    }
    if (command_ == "init_model") require("output", "name the file to write");
    check_sizes();
    check_captions();
    check_methods();
    check_rates();
    check_noise();
  }

 private:
  bool has(const std::string& name) const { return values_.has(name); }
  bool is_on(const std::string& name) const { return values_.flag(name); }
  double number(const std::string& name) const { return values_.maybe_number(name).value_or(0.0); }

  void add(const std::string& name, const std::string& message) {
    const auto found = given_.find(name);
    if (found != given_.end()) return problems_.add({found->second.where, name, found->second.text, message});
    problems_.add({"", name, value_text(values_.raw(name)), message});
  }
  void require(const std::string& name, const std::string& message) {
    if (!has(name)) add(name, "missing: " + message);
  }

  void check_sizes() {
    if (!has("min_bucket_reso") || !is_on("enable_bucket")) return;
    const int64_t low = values_.integer("min_bucket_reso");
    const int64_t high = values_.integer("max_bucket_reso");
    if (low > high) add("min_bucket_reso", "larger than max_bucket_reso (" + std::to_string(high) + ")");
    if (values_.integer("bucket_reso_steps") % 8 != 0) {
      add("bucket_reso_steps", "expected a multiple of 8, for Stable Diffusion of 64");
    }
    // Never-enlarge buckets follow the pictures, so the bounds do not bind the resolution.
    if (!has("resolution") || is_on("bucket_no_upscale")) return;
    const auto [width, height] = values_.size("resolution");
    if (std::min(width, height) < low) {
      add("resolution", "smaller than min_bucket_reso (" + std::to_string(low) + "); lower min_bucket_reso too");
    }
    if (std::max(width, height) > high) {
      add("resolution", "larger than max_bucket_reso (" + std::to_string(high) + "); raise max_bucket_reso too");
    }
  }

  void check_captions() {
    const bool is_cached = is_on("cache_text_encoder_outputs") || is_on("cache_text_encoder_outputs_to_disk");
    if (!is_cached) return;
    const std::string ending = ": the captions of cache_text_encoder_outputs cannot change while training";
    if (is_on("shuffle_caption")) add("shuffle_caption", "not possible" + ending);
    for (const char* name : {"caption_dropout_rate", "caption_tag_dropout_rate", "token_warmup_step"}) {
      if (number(name) > 0) add(name, "expected 0" + ending);
    }
    if (command_ == "train" && !is_on("network_train_unet_only")) {
      add("cache_text_encoder_outputs", "the text encoder cannot be trained then; give network_train_unet_only too");
    }
  }

  void check_methods() {
    if (is_on("network_train_unet_only") && is_on("network_train_text_encoder_only")) {
      add("network_train_unet_only", "contradicts network_train_text_encoder_only; give one of them");
    }
    if (is_on("dim_from_weights") && !has("network_weights")) {
      add("dim_from_weights", "needs network_weights, the file that the ranks come from");
    }
  }

  void check_rates() {
    if (!has("lr_scheduler") || !has("lr_warmup_steps")) return;
    const std::string schedule = values_.text("lr_scheduler");
    if (schedule == "constant" && number("lr_warmup_steps") != 0) {
      add("lr_warmup_steps", "the constant schedule has no warm-up; give --lr_scheduler constant_with_warmup");
    }
  }

  void check_noise() {
    if (has("adaptive_noise_scale") && number("adaptive_noise_scale") != 0 && number("noise_offset") == 0) {
      add("adaptive_noise_scale", "needs noise_offset");
    }
    if (is_on("scale_v_pred_loss_like_noise_pred") && !is_on("v_parameterization")) {
      add("scale_v_pred_loss_like_noise_pred", "needs v_parameterization");
    }
    if (number("v_pred_like_loss") > 0 && is_on("v_parameterization")) {
      add("v_pred_like_loss", "not with v_parameterization, whose loss is that already");
    }
    if (has("min_timestep") && has("max_timestep") && number("min_timestep") > number("max_timestep")) {
      add("min_timestep", "larger than max_timestep (" + value_text(values_.raw("max_timestep")) + ")");
    }
  }

  const Values& values_;
  const std::string command_;
  const std::map<std::string, Given>& given_;
  Problems& problems_;
};

}  // namespace

void cross_check(const Config& config, const std::map<std::string, Given>& given, Problems& problems) {
  Rules(config, given, problems).run();
}

}  // namespace cinnabar::schema
