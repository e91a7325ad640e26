// A configuration that the kohya_ss GUI saved. The GUI turns its values into options by rules of its own (kohya_gui, as
// of July 2026); the same rules are followed here, and every key is reported.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cinnabar/base/json_tree.h"
#include "cinnabar/schema/escape_hint.h"
#include "cinnabar/schema/json_value.h"
#include "cinnabar/schema/kohya_keys.h"
#include "cinnabar/schema/planned.h"
#include "cinnabar/schema/source.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

using nlohmann::ordered_json;

// What the GUI leaves out: "", false, null, and in Python 0 == False.
bool is_dropped(const ordered_json& json) {
  if (json.is_null() || json == false || json == "") return true;
  return json.is_number() && json.get<double>() == 0.0;
}

// As a whole number, or as it is when it is none that could be a count: the option then says what it expects.
ordered_json whole(double number) {
  constexpr double kLargest = 1e15;
  return std::abs(number) < kLargest ? ordered_json(static_cast<int64_t>(number)) : ordered_json(number);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (c == '"') continue;
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  }
  return words;
}

class Importer {
 public:
  Importer(const Schema& schema, ordered_json json, std::string name, Source& source, Problems& problems)
      : schema_(schema), json_(std::move(json)), name_(std::move(name)), source_(source), problems_(problems) {}

  void run() {
    check_numbers();
    add_defaults();
    report("epoch", "derived", "max_train_steps", "the GUI's number of epochs");
    read_method();
    read_network();
    read_rates();
    read_noise();
    read_warmup();
    read_previews();
    read_attention();
    read_bucket_steps();
    for (const auto& [key, value] : json_.items()) {
      if (!done_.contains(key)) read_plain(key, value);
    }
    if (unknown_count_ > kMostProblems) {
      source_.notices.push_back(name_ + ": " + std::to_string(unknown_count_ - kMostProblems) +
                                " more keys are left out: unknown options.");
    }
    read_length();
    sort_report();
  }

 private:
  // ---- reading the file ----

  // The value of a key, or null. Numbers that the GUI kept as text are numbers again.
  ordered_json get(const std::string& key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? ordered_json() : *found;
  }
  double number(const std::string& key) const {
    const ordered_json value = get(key);
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) return parse_number(value.get<std::string>()).value_or(0.0);
    return 0.0;
  }
  std::string text(const std::string& key) const {
    const ordered_json value = get(key);
    return value.is_string() ? value.get<std::string>() : std::string();
  }

  void report(const std::string& key, const char* action, const std::string& option, const std::string& note) {
    done_.insert(key);
    if (!json_.contains(key)) return;
    const std::string value =
        is_secret_option(key) && !is_dropped(get(key)) ? "[hidden]" : without_secrets(json_text(get(key)));
    source_.report.push_back({key, value, action, option, note});
  }

  void give(const std::string& option_name, const ordered_json& json) {
    const Option* option = schema_.find(option_name);
    if (option == nullptr) return;  // a command that has no such option
    const base::Result<Value> value = value_from_json(*option, json);
    if (value) {
      source_.values[option->name] = {value.value(), name_, json_text(json), !added_.contains(option_name)};
    } else {
      problems_.add({name_, option_name, json_text(json), value.error().message()});
    }
  }

  // Files hold what the user saw; a key that is missing stands for the GUI's own default.
  void add_defaults() {
    if (!json_.contains("LoRA_type")) return;
    std::string names;
    for (const KohyaDefault& entry : kohya_lora_defaults()) {
      const std::string key(entry.key);
      if (json_.contains(key)) continue;
      if (key == "lr_warmup" && json_.contains("lr_warmup_steps")) continue;
      json_[key] = ordered_json::parse(entry.json);
      names += (names.empty() ? "" : ", ") + key;
      added_.insert(key);
    }
    if (!names.empty())
      source_.notices.push_back(name_ + " lacks these keys, so the defaults of the kohya_ss GUI count: " + names + ".");
  }

  // Of the keys that rules below take numbers from, and that no option of their own would check.
  void check_numbers() {
    for (const char* key : {"epoch", "lr_warmup", "lr_warmup_steps", "text_encoder_lr"}) {
      const ordered_json value = get(key);
      if (is_dropped(value)) continue;
      const bool is_number = value.is_number() || (value.is_string() && parse_number(value.get<std::string>()));
      if (is_number && number(key) >= 0) continue;
      problems_.add({name_, key, json_text(value), "expected a number, at least 0"});
    }
  }

  // ---- rules for keys that belong together ----

  void read_method() {
    if (json_.contains("LoRA_type")) return;
    const bool is_inversion = json_.contains("token_string");
    const bool is_finetuning = json_.contains("image_folder") || json_.contains("create_caption");
    const std::string method = is_inversion ? "textual inversion" : is_finetuning ? "fine-tuning" : "DreamBooth";
    problems_.add({name_, "", "", "this is a configuration of " + method + ", which is not supported yet; LoRA is"});
  }

  void read_network() {
    const std::string type = text("LoRA_type");
    const KohyaNetwork* network = kohya_network(type);
    if (network == nullptr) {
      if (!type.empty()) {
        report("LoRA_type", "unknown", "", "no such type of network");
        problems_.add({name_, "LoRA_type", type, "no such type of network"});
      }
      return;
    }
    report("LoRA_type", "renamed", "network_module", std::string(network->module));
    give("network_module", std::string(network->module));
    ordered_json arguments = ordered_json::array();
    const bool is_lycoris = !network->algo.empty();
    if (is_lycoris) {
      arguments.push_back("algo=" + std::string(network->algo));
      const std::string preset = text("LyCORIS_preset");
      if (!preset.empty()) arguments.push_back("preset=" + preset);
    }
    if (is_lycoris) {
      report("LyCORIS_preset", "derived", "network_args", "");
    } else {
      report("LyCORIS_preset", "ignored", "", "a setting of LyCORIS networks");
    }
    for (const auto& [key, value] : json_.items()) {
      if (!is_kohya_network_key(key) || done_.contains(key)) continue;
      read_network_key(key, value, *network, arguments);
    }
    if (!arguments.empty()) give("network_args", arguments);
  }

  void read_network_key(const std::string& key, const ordered_json& value, const KohyaNetwork& network,
                        ordered_json& arguments) {
    const bool is_taken = std::find(network.arguments.begin(), network.arguments.end(), key) != network.arguments.end();
    const bool is_default_factor = key == "factor" && number(key) == -1.0;
    if (is_dropped(value) || is_default_factor || (value.is_string() && number(key) == 0.0 && value == "0")) {
      report(key, "unset", "", "");
    } else if (!is_taken) {
      report(key, "ignored", "", "not an argument of " + text("LoRA_type"));
    } else {
      const std::string argument(kohya_argument_name(key, network.module));
      std::string shown = json_text(value);
      if (value.is_boolean()) shown = value.get<bool>() ? "True" : "False";
      arguments.push_back(argument + "=" + shown);
      report(key, "derived", "network_args", argument + "=" + shown);
    }
  }

  void read_rates() {
    if (!json_.contains("LoRA_type")) return;
    const double text_rate = number("text_encoder_lr");
    const double unet_rate = number("unet_lr");
    if (text_rate == 0.0 && unet_rate != 0.0) {
      give("network_train_unet_only", true);
      report("text_encoder_lr", "derived", "network_train_unet_only", "a rate of 0 leaves the text encoder as it is");
    } else if (text_rate != 0.0) {
      give("text_encoder_lr", text_rate);
      report("text_encoder_lr", "used", "text_encoder_lr", "");
    }
    if (unet_rate == 0.0 && text_rate != 0.0) {
      give("network_train_text_encoder_only", true);
      report("unet_lr", "derived", "network_train_text_encoder_only", "a rate of 0 leaves the U-Net as it is");
    }
    if (text_rate == 0.0 && unet_rate == 0.0 && number("learning_rate") == 0.0) {
      problems_.add({name_, "learning_rate", "0", "all learning rates are 0; give at least one"});
    }
  }

  // The choice between two kinds of noise hides the other kind's values.
  void read_noise() {
    const bool is_pyramid = text("noise_offset_type") == "Multires";
    report("noise_offset_type", "derived", is_pyramid ? "multires_noise_iterations" : "noise_offset", "");
    const std::vector<std::string> plain = {"noise_offset", "noise_offset_random_strength", "adaptive_noise_scale"};
    const std::vector<std::string> pyramid = {"multires_noise_iterations", "multires_noise_discount"};
    for (const std::string& key : is_pyramid ? plain : pyramid) {
      if (json_.contains(key))
        report(key, is_dropped(get(key)) ? "unset" : "ignored", "", "the other kind of noise is chosen");
    }
  }

  void read_warmup() {
    const double steps = number("lr_warmup_steps");
    const double percent = number("lr_warmup");
    const bool has_dataset = !text("dataset_config").empty();
    const double length = number("max_train_steps");
    const bool counts = steps > 0 && !(has_dataset && length == 0);
    if (counts) {
      give("lr_warmup_steps", whole(steps));
      report("lr_warmup_steps", "used", "lr_warmup_steps", "");
      report("lr_warmup", "ignored", "", "lr_warmup_steps counts over it");
      return;
    }
    report("lr_warmup_steps", steps > 0 ? "ignored" : "unset", "", steps > 0 ? "no number of steps is known" : "");
    if (percent == 0) {
      report("lr_warmup", "unset", "", "");
      return;
    }
    if (has_dataset && length > 0) {
      give("lr_warmup_steps", whole(std::nearbyint(percent * length / 100.0)));
    } else {
      give("lr_warmup_steps", percent / 100.0);
    }
    report("lr_warmup", "renamed", "lr_warmup_steps", "a percentage");
  }

  // The GUI writes the prompts that stand in its text box to a file.
  void read_previews() {
    const std::string prompts = text("sample_prompts");
    if (prompts.empty()) return;
    const bool is_wanted = number("sample_every_n_steps") > 0 || number("sample_every_n_epochs") > 0;
    source_.attachments["sample_prompts"] = prompts;
    report("sample_prompts", "derived", "sample_prompts",
           is_wanted ? "written to a file in the run record" : "no interval of previews is set");
  }

  // The GUI's old default of 1 is finer than latents are; later versions refuse it.
  void read_bucket_steps() {
    constexpr int64_t kStep = 64;
    const double steps = number("bucket_reso_steps");
    if (steps <= 0 || steps >= 8) return;
    give("bucket_reso_steps", kStep);
    report("bucket_reso_steps", "derived", "bucket_reso_steps", "too fine for latents; 64 is used");
    source_.notices.push_back("bucket_reso_steps below 8 is finer than latents are; 64 is used.");
  }

  void read_attention() {
    if (!json_.contains("xformers")) return;
    const ordered_json value = get("xformers");
    const bool is_off = is_dropped(value) || value == "none";
    report("xformers", is_off ? "unset" : "ignored", "",
           is_off ? "" : "the fastest attention for the device is chosen by itself");
    if (!is_off) source_.notices.push_back("xformers: the fastest attention for the device is chosen by itself.");
  }

  // The GUI counts pictures then; which ones, the command line may still change (run_length_rules.cpp).
  void read_length() {
    if (number("max_train_steps") > 0 || number("max_train_epochs") > 0) return;
    source_.counted_epochs = std::max(1.0, number("epoch"));
  }

  // ---- single keys ----

  void read_plain(const std::string& key, const ordered_json& value) {
    std::string option_name = key;
    for (const KohyaRename& rename : kohya_renames()) {
      if (rename.key == key) option_name = rename.option;
    }
    if (key == "additional_parameters") return read_additional(value);
    if (is_kohya_network_key(key))
      return report(key, is_dropped(value) ? "unset" : "ignored", "", "a setting of LoRA networks");
    if (key == "log_with" && !is_dropped(value) && value != "tensorboard") {
      source_.notices.push_back(
          "log_with = " + json_text(value) +
          " is not supported yet (tracking); TensorBoard files are written if logging_dir is given.");
      return report(key, "later", "", "not supported yet (tracking)");
    }
    if (key == "lr_scheduler_num_cycles" && is_dropped(value) && number("epoch") > 0) {
      give(option_name, whole(number("epoch")));
      return report(key, "derived", option_name, "empty means the number of epochs");
    }
    const bool is_number_zero = value.is_string() && value == "0";
    if (is_dropped(value) || (is_number_zero && key != "max_data_loader_n_workers")) {
      if (key == "max_data_loader_n_workers") give(option_name, int64_t{0});
      const bool is_known = schema_.find(option_name) != nullptr || find_planned(option_name) != nullptr ||
                            kohya_ignored(key).has_value();
      const bool is_zero = value.is_number() || is_number_zero;
      if (!is_known) return report(key, "unknown", "", "no such option");
      return report(key, "unset", "", is_zero ? "the GUI leaves a 0 out" : "");
    }
    if (const Option* option = schema_.find(option_name); option != nullptr && !kohya_ignored(key)) {
      give_text_or_list(*option, value);
      return report(key, option_name == key ? "used" : "renamed", option->name, "");
    }
    if (const auto why = kohya_ignored(key); why && option_name == key)
      return report(key, "ignored", "", std::string(*why));
    if (option_name != key) {
      give(option_name, value);
      return report(key, "renamed", option_name, "");
    }
    read_without_row(key, value);
  }

  void read_without_row(const std::string& key, const ordered_json& value) {
    const PlannedOption* planned = find_planned(key);
    if (planned == nullptr) {
      report(key, "unknown", "", "no such option");
      if (++unknown_count_ > kMostProblems) return;
      source_.notices.push_back(name_ + ": " + key + " is left out: " + unknown_option_text(schema_, key));
      return;
    }
    if (const std::string why = elsewhere(*planned); !why.empty()) return report(key, "ignored", "", why);
    const std::string shown = is_secret_option(key) ? "[hidden]" : json_text(value);
    if (shown != planned->fallback) source_.planned[key] = {shown, name_, shown};
    const bool is_default = shown == planned->fallback;
    report(key,
           is_default                               ? "unset"
           : planned->kind == PlannedKind::NoEffect ? "ignored"
                                                    : "later",
           "",
           is_default                               ? "the default"
           : planned->kind == PlannedKind::NoEffect ? std::string(planned->why)
                                                    : "not supported yet (" + std::string(planned->why) + ")");
  }

  // The GUI's tabs hold settings of families and methods that are not chosen; it forwards them only with their switch.
  std::string elsewhere(const PlannedOption& planned) const {
    const std::string part(planned.why);
    const std::map<std::string, std::string> switches = {{"flux", "flux1_checkbox"},
                                                         {"sd3", "sd3_checkbox"},
                                                         {"hunyuan", "hunyuan_image_checkbox"},
                                                         {"lumina", "lumina_checkbox"},
                                                         {"anima", "anima_checkbox"}};
    const auto family = switches.find(part);
    if (family != switches.end() && is_dropped(get(family->second))) return "a setting of another model family";
    if (part == "fine-tuning" && json_.contains("LoRA_type")) return "a setting of other training methods";
    return "";
  }

  // Argument lists are one text in the GUI.
  void give_text_or_list(const Option& option, const ordered_json& value) {
    if (option.type != Type::TextList || !value.is_string()) return give(option.name, value);
    give(option.name, ordered_json(words_of(value.get<std::string>())));
  }

  void read_additional(const ordered_json& value) {
    const std::vector<std::string> words =
        value.is_string() ? words_of(value.get<std::string>()) : std::vector<std::string>{};
    if (value.is_string() && std::ranges::count(value.get<std::string>(), '"') % 2 != 0) {
      problems_.add({name_, "additional_parameters", json_text(value), "a quotation mark is not closed"});
    }
    source_.more_arguments = words;
    report("additional_parameters", words.empty() ? "unset" : "used", "",
           words.empty() ? "" : "read as a command line");
  }

  void sort_report() {
    std::vector<std::string> order;
    for (const auto& [key, value] : json_.items()) order.push_back(key);
    std::erase_if(source_.report, [&](const ImportedKey& entry) { return added_.contains(entry.key); });
    std::stable_sort(source_.report.begin(), source_.report.end(), [&](const ImportedKey& a, const ImportedKey& b) {
      return std::find(order.begin(), order.end(), a.key) < std::find(order.begin(), order.end(), b.key);
    });
  }

  const Schema& schema_;
  ordered_json json_;
  const std::string name_;
  Source& source_;
  Problems& problems_;
  size_t unknown_count_ = 0;
  std::set<std::string> done_;
  std::set<std::string> added_;
};

}  // namespace

void read_kohya_json(const Schema& schema, const std::string& text, const std::string& name, Source& source,
                     Problems& problems) {
  ordered_json json;
  if (const auto fault = base::read_json_tree(text, json, {.keys = kMaxConfigKeys})) {
    throw base::Error(base::ErrorCode::Config, name + ": " + fault->reason +
                                                   (fault->byte ? " near byte " + std::to_string(*fault->byte) : "") +
                                                   (fault->byte ? escape_hint(line_at(text, *fault->byte)) : ""));
  }
  if (!json.is_object()) throw base::Error(base::ErrorCode::Config, name + ": expected one JSON object");
  source.is_gui_file = true;
  source.name = name;
  Importer(schema, std::move(json), name, source, problems).run();
}

}  // namespace cinnabar::schema
