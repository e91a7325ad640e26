// LoRA files by the words of the option `lora`: FILE or FILE:WEIGHT.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/base/events.h"
#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/sample/parameters_text.h"

namespace cinnabar::sample {

struct LoraWord {
  std::filesystem::path path;
  double weight = 1.0;
};

// What follows the last colon is the weight when it is a number and no file has the whole word as its name.
LoraWord parse_lora_word(const std::string& word);

struct LoadedLora {
  std::unique_ptr<adapters::AdapterSet> adapters;
  LoraUse use;
};

// Attaches the file's adapters at their weight. Keys that fit no layer become a warning. Throws Error{Io} or
// Error{Format}. The model must outlive the result.
LoadedLora load_lora(models::DiffusionModel& model, const LoraWord& word, base::EventSink& events,
                     bool is_nonfinite_allowed = false);

}  // namespace cinnabar::sample
