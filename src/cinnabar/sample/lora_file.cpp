#include "cinnabar/sample/lora_file.h"

#include "cinnabar/base/error.h"
#include "cinnabar/formats/adapter_family.h"
#include "cinnabar/formats/adapter_hashes.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/tensor/finite_file.h"

namespace cinnabar::sample {

namespace {

constexpr size_t kShownKeys = 3;
constexpr size_t kHashDigits = 12;

// The hash that programs know the file by; files without it get the one that it would have.
std::string hash_of(const formats::Checkpoint& file) {
  const auto found = file.metadata().find("sshs_model_hash");
  if (found != file.metadata().end()) return found->second.substr(0, kHashDigits);
  if (file.path().extension() != ".safetensors") return {};
  return formats::data_hash_of_file(file.path()).substr(0, kHashDigits);
}

void warn_of_unmatched(const std::string& name, const std::vector<std::string>& keys, const std::string& why,
                       base::EventSink& events) {
  if (keys.empty()) return;
  std::string shown;
  for (size_t i = 0; i < keys.size() && i < kShownKeys; ++i) shown += (i == 0 ? "" : ", ") + keys[i];
  events.warning(name + ": " + std::to_string(keys.size()) +
                 " of its keys fit no layer of this model and are left out: " + shown +
                 (keys.size() > kShownKeys ? ", ..." : "") + why);
}

}  // namespace

LoadedLora load_lora(models::DiffusionModel& model, const LoraWord& word, base::EventSink& events,
                     bool is_nonfinite_allowed) {
  if (const std::string why = schema::lora_word_problem(word); !why.empty())
    throw base::Error(base::ErrorCode::Config, "lora = " + word.path.string() + ": " + why);
  const std::unique_ptr<formats::Checkpoint> file = formats::Checkpoint::open(word.path);
  tensor::check_finite_file(*file, is_nonfinite_allowed, events);
  (void)model.parts();  // adapters look at the weights that they attach to
  adapters::LoadReport report;
  LoadedLora result{.adapters = formats::naming_family(
                        *file, model.info().family,
                        [&] { return adapters::AdapterSet::from_file(model.adapter_targets(), *file, {}, &report); }),
                    .use = {.name = word.path.stem().string(), .weight = word.weight, .hash = hash_of(*file)}};
  file->check();
  result.adapters->set_multiplier(word.weight);
  warn_of_unmatched(word.path.filename().string(), report.unmatched,
                    formats::other_family_text(*file, model.info().family), events);
  return result;
}

}  // namespace cinnabar::sample
