// What options demand of each other. Rules of the reference scripts, each reported with the names involved.
#include <algorithm>
#include <filesystem>

#include "cinnabar/base/path_kind.h"
#include "cinnabar/schema/extension_rule.h"
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
      if (!has("train_data_dir") && !has("dataset_config"))
        add("train_data_dir", "missing: name the folder of training pictures, or embedded, or a dataset_config");
    }
    if (command_ == "scan" && !has("train_data_dir") && !has("dataset_config"))
      add("train_data_dir", "missing: name the folder of training pictures, or embedded, or a dataset_config");
    if (command_ == "sample") {
      require("pretrained_model_name_or_path", "name the base model: a file, a folder, or embedded");
      if (!has("prompt") && !has("prompt_file"))
        add("prompt", "missing: say what the picture shows (or name a prompt_file)");
    }
    if (command_ == "init_model") {
      require("output", "name the file to write");
      check_new_model();
    }
    check_output();
    check_sizes();
    check_captions();
    check_pictures();
    check_methods();
    check_rates();
    check_noise();
    check_precision();
  }

 private:
  void check_new_model() {
    if (!has("output")) return;
    const std::filesystem::path path = values_.text("output");
    if (path.extension() != ".safetensors") add("output", "expected a name that ends in .safetensors");
    const std::string kind = base::kind_of(path);
    if (!kind.empty()) add("output", "this is " + kind + " that exists already; name another file, or remove it first");
  }

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

  // The name becomes part of file names, which file systems hold to 255 bytes.
  void check_output() {
    constexpr size_t kMostBytes = 200;
    if (!has("output_name")) return;
    const std::string name = values_.text("output_name");
    const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; };
    if (std::ranges::any_of(name, is_control)) return add("output_name", "it holds control characters");
    if (name.empty() || name == "." || name == "..") return add("output_name", "expected a name for files");
    if (name.find('/') != std::string::npos) {
      return add("output_name", "expected a name without /; the folder is what output_dir says");
    }
    if (name.size() > kMostBytes) {
      return add("output_name",
                 "expected at most " + std::to_string(kMostBytes) + " bytes, found " + std::to_string(name.size()));
    }
    if (command_ != "train" || !has("output_dir") || !has("save_model_as")) return;
    const std::filesystem::path file =
        std::filesystem::path(value_text(values_.raw("output_dir"))) / (name + "." + values_.text("save_model_as"));
    // Hours before the first save; what cannot be looked at fails with its own message when it is written.
    if (const std::string kind = base::kind_of(file); !base::why_not_replaced(file).empty()) {
      add("output_name", "the result would be " + file.string() + ", which is " + kind +
                             "; only a regular file is replaced, so choose another name, or remove it");
    }
    const std::filesystem::path state =
        std::filesystem::path(value_text(values_.raw("output_dir"))) / (name + "-state");
    const bool has_state = is_on("save_state") || is_on("save_state_on_train_end");
    if (const std::string kind = base::kind_of(state); has_state && !kind.empty() && kind != "a folder") {
      add("output_name",
          "the state would be " + state.string() + ", which is " + kind + "; choose another name, or remove it");
    }
  }

  void check_sizes() {
    // The file may say other sizes; it is checked when it is read.
    if (!has("min_bucket_reso") || !is_on("enable_bucket") || has("dataset_config")) return;
    const int64_t low = values_.integer("min_bucket_reso");
    const int64_t high = values_.integer("max_bucket_reso");
    if (low > high) add("min_bucket_reso", "larger than max_bucket_reso (" + std::to_string(high) + ")");
    const int64_t step = values_.integer("bucket_reso_steps");
    if (step % 8 != 0) {
      add("bucket_reso_steps", "expected a multiple of 8, for Stable Diffusion of 64");
    }
    if (low < step && !is_on("bucket_no_upscale")) {
      const std::string smaller = std::to_string(std::max<int64_t>(8, low / 2 / 8 * 8));
      add("min_bucket_reso", "smaller than bucket_reso_steps (" + std::to_string(step) +
                                 "), of which it must be a multiple; give a smaller step too, for example "
                                 "--bucket_reso_steps " +
                                 smaller);
    }
    // Never-enlarge buckets follow the pictures, so the bounds do not bind the resolution.
    if (!has("resolution") || is_on("bucket_no_upscale")) return;
    const auto [width, height] = values_.size("resolution");
    if (std::min(width, height) < low) {
      add("resolution", "smaller than min_bucket_reso (" + std::to_string(low) + "); lower min_bucket_reso too" +
                            bucket_advice(std::min(width, height), step));
    }
    if (std::max(width, height) > high) {
      add("resolution", "larger than max_bucket_reso (" + std::to_string(high) + "); raise max_bucket_reso too");
    }
  }

  // Sides of buckets are multiples of the step: a resolution of one or two steps leaves no choice of shapes.
  static std::string bucket_advice(int64_t side, int64_t step) {
    if (side > step) return "";
    const int64_t finer = std::max<int64_t>(8, side / 4 / 8 * 8);
    return ", and bucket_reso_steps (" + std::to_string(step) + ") with it: --min_bucket_reso " +
           std::to_string(std::max(finer, side / 2 / finer * finer)) + " --bucket_reso_steps " + std::to_string(finer);
  }

  void check_pictures() {
    for (const char* cache : {"cache_latents", "cache_latents_to_disk", "read_npz", "write_npz"}) {
      if (!is_on(cache)) continue;
      for (const char* name : {"color_aug", "random_crop"}) {
        if (is_on(name))
          add(name, std::string("not possible with ") + cache + ", which keeps one form of each picture");
      }
      if (has("face_crop_aug_range")) {
        add("face_crop_aug_range",
            std::string("not possible with ") + cache + ", which keeps one form of each picture");
      }
      break;
    }
    if (is_on("masked_loss_normalize") && !is_on("masked_loss") && !is_on("alpha_mask") && !has("dataset_config")) {
      add("masked_loss_normalize", "needs masks: give masked_loss or alpha_mask too");
    }
  }

  void check_captions() {
    if (has("caption_extension")) {
      const std::string wrong = extension_problem(values_.text("caption_extension"));
      if (!wrong.empty()) add("caption_extension", wrong);
    }
    // The name that the user gave.
    const std::string cache =
        is_on("cache_text_encoder_outputs_to_disk") && !given_.contains("cache_text_encoder_outputs")
            ? "cache_text_encoder_outputs_to_disk"
            : "cache_text_encoder_outputs";
    if (!is_on(cache)) return;
    const std::string ending = ": the captions of " + cache + " cannot change while training";
    for (const char* name : {"shuffle_caption", "enable_wildcard"}) {
      if (is_on(name)) add(name, "not possible" + ending);
    }
    if (has("caption_lines") && values_.text("caption_lines") == "random")
      add("caption_lines", "not possible" + ending);
    for (const char* name :
         {"caption_dropout_rate", "caption_tag_dropout_rate", "caption_dropout_every_n_epochs", "token_warmup_step"}) {
      if (number(name) > 0) add(name, "expected 0" + ending);
    }
    if (command_ == "train" && !is_on("network_train_unet_only")) {
      add(cache, "the text encoder cannot be trained then; give network_train_unet_only too");
    }
  }

  void check_methods() {
    if (number("network_dropout") >= 1.0) add("network_dropout", "expected below 1; 1 would drop every value");
    if (is_on("network_train_unet_only") && is_on("network_train_text_encoder_only")) {
      add("network_train_unet_only", "contradicts network_train_text_encoder_only; give one of them");
    }
    if (is_on("dim_from_weights") && !has("network_weights")) {
      add("dim_from_weights", "needs network_weights, the file that the ranks come from");
    }
    const std::vector<std::string> merged = values_.texts("base_weights");
    for (const std::string& path : merged) {
      if (!std::filesystem::is_regular_file(path)) add("base_weights", "no such file: " + path);
    }
    if (values_.numbers("base_weights_multiplier").size() > merged.size()) {
      add("base_weights_multiplier", "more numbers than files in base_weights (" + std::to_string(merged.size()) + ")");
    }
  }

  void check_rates() {
    for (const char* flag : {"use_8bit_adam", "use_lion_optimizer"}) {
      if (is_on(flag) && given_.contains("optimizer_type") && has("optimizer_type") &&
          !values_.text("optimizer_type").empty()) {
        add(flag, "names an optimizer, as optimizer_type does; leave one of them out");
      }
    }
    if (is_on("use_8bit_adam") && is_on("use_lion_optimizer")) {
      add("use_lion_optimizer", "contradicts use_8bit_adam; leave one of them out");
    }
    if (!has("lr_scheduler") || !has("lr_warmup_steps")) return;
    const std::string schedule = values_.text("lr_scheduler");
    // These have a warm-up of their own and no schedule.
    const std::string type = has("optimizer_type") ? values_.text("optimizer_type") : "";
    const bool is_free = type.ends_with("ScheduleFree") || type.ends_with("schedulefree");
    if (schedule == "constant" && number("lr_warmup_steps") != 0 && !is_free) {
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

  void check_precision() {
    for (const std::string type : {"fp16", "bf16"}) {
      const std::string name = "full_" + type;
      if (!is_on(name) || !has("mixed_precision") || values_.text("mixed_precision") == type) continue;
      add(name, "needs mixed_precision " + type + " (found " + values_.text("mixed_precision") + ")");
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
