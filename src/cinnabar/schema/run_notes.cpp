// Options that were left out although their default seldom fits.
#include <algorithm>
#include <string_view>

#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

// Optimizers that find the size of their steps themselves say on their own what they expect.
bool finds_its_rate(const Values& values) {
  std::string type = value_text(values.raw("optimizer_type"));
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type.starts_with("prodigy") || type.starts_with("dadapt") || type.starts_with("adafactor");
}

constexpr double kHighRate = 0.02;

// Steps of the size of the rate itself: far above a hundredth they destroy any network.
bool is_adam_like(const Values& values) {
  std::string type = value_text(values.raw("optimizer_type"));
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type.empty() || type.find("adam") != std::string::npos || type.find("lion") != std::string::npos;
}

}  // namespace

std::vector<std::string> run_notes(const Config& config, const std::map<std::string, Given>& given) {
  std::vector<std::string> notes;
  const Values& values = config.values;
  const auto is_given = [&](const char* name) { return given.contains(name) && values.has(name); };
  if (config.command == "train" && values.has("learning_rate") && !is_given("learning_rate") && !is_given("unet_lr") &&
      !is_given("text_encoder_lr") && !finds_its_rate(values)) {
    notes.push_back("learning_rate was not given: " + value_text(values.raw("learning_rate")) +
                    " is used, the default of sd-scripts, with which a LoRA hardly learns. Usual is --learning_rate "
                    "1e-4, for the embedded model 1e-3.");
  }
  if (config.command == "train" && is_given("learning_rate") && !finds_its_rate(values) && is_adam_like(values) &&
      values.number("learning_rate") > kHighRate) {
    notes.push_back("learning_rate = " + value_text(values.raw("learning_rate")) +
                    " is very high for this optimizer; usual is 1e-4, for the embedded model 1e-3.");
  }
  if (config.command == "train" && is_given("output_name")) {
    const std::string name = values.text("output_name");
    for (const char* extension : {".safetensors", ".ckpt", ".pt"}) {
      if (name.ends_with(extension))
        notes.push_back("output_name = " + name + " gets the ending of save_model_as as well; leave " + extension +
                        " out.");
    }
  }
  const auto has_own_scale = [](const std::string& prompt) { return prompt.find(" --l ") != std::string::npos; };
  if (config.command == "sample" && value_text(values.raw("pretrained_model_name_or_path")) == "embedded" &&
      !is_given("scale") && !is_given("prompt_file") && !std::ranges::all_of(values.texts("prompt"), has_own_scale)) {
    notes.push_back("scale was not given: " + value_text(values.raw("scale")) +
                    " suits Stable Diffusion and gives burnt colours with the embedded model, which wants --scale 2.");
  }
  return notes;
}

}  // namespace cinnabar::schema
