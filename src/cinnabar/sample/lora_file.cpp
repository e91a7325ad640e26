#include "cinnabar/sample/lora_file.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "cinnabar/formats/adapter_hashes.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/tensor/finite_file.h"

namespace cinnabar::sample {

namespace {

constexpr size_t kShownKeys = 3;
constexpr size_t kHashDigits = 12;

std::optional<double> number_of(const std::string& text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || read != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

// The hash that programs know the file by; files without it get the one that it would have.
std::string hash_of(const formats::Checkpoint& file) {
  const auto found = file.metadata().find("sshs_model_hash");
  if (found != file.metadata().end()) return found->second.substr(0, kHashDigits);
  if (file.path().extension() != ".safetensors") return {};
  return formats::data_hash_of_file(file.path()).substr(0, kHashDigits);
}

void warn_of_unmatched(const std::string& name, const std::vector<std::string>& keys, base::EventSink& events) {
  if (keys.empty()) return;
  std::string shown;
  for (size_t i = 0; i < keys.size() && i < kShownKeys; ++i) shown += (i == 0 ? "" : ", ") + keys[i];
  events.warning(name + ": " + std::to_string(keys.size()) +
                 " of its keys fit no layer of this model and are left out: " + shown +
                 (keys.size() > kShownKeys ? ", ..." : ""));
}

base::Error missing_lora(const LoraWord& word) {
  const std::string text = word.path.string();
  const size_t colon = text.rfind(':');
  std::error_code error;
  if (colon != std::string::npos && std::filesystem::exists(text.substr(0, colon), error)) {
    return {base::ErrorCode::Config, "lora = " + text + ": the weight after the colon is \"" + text.substr(colon + 1) +
                                         "\"; expected a number, as in " + text.substr(0, colon) + ":0.8"};
  }
  return {base::ErrorCode::Config, "lora = " + text + ": no such file; check the path of the LoRA"};
}

}  // namespace

LoraWord parse_lora_word(const std::string& word) {
  const size_t colon = word.rfind(':');
  if (colon == std::string::npos || std::filesystem::exists(word)) return {.path = word};
  const std::optional<double> weight = number_of(word.substr(colon + 1));
  if (!weight) return {.path = word};
  return {.path = word.substr(0, colon), .weight = *weight};
}

LoadedLora load_lora(models::DiffusionModel& model, const LoraWord& word, base::EventSink& events,
                     bool is_nonfinite_allowed) {
  std::error_code error;
  if (!std::filesystem::exists(word.path, error)) throw missing_lora(word);
  const std::unique_ptr<formats::Checkpoint> file = formats::Checkpoint::open(word.path);
  tensor::check_finite_file(*file, is_nonfinite_allowed, events);
  adapters::LoadReport report;
  LoadedLora result{.adapters = adapters::AdapterSet::from_file(model.adapter_targets(), *file, {}, &report),
                    .use = {.name = word.path.stem().string(), .weight = word.weight, .hash = hash_of(*file)}};
  file->check();
  result.adapters->set_multiplier(word.weight);
  warn_of_unmatched(word.path.filename().string(), report.unmatched, events);
  return result;
}

}  // namespace cinnabar::sample
