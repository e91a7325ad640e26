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
#include "cinnabar/schema/lora_word.h"

namespace cinnabar::sample {

using schema::LoraWord;
using schema::parse_lora_word;

struct LoadedLora {
  std::unique_ptr<adapters::AdapterSet> adapters;
  LoraUse use;
};

// Attaches the file's adapters at their weight. Keys that fit no layer become a warning. Throws Error{Io} or
// Error{Format}. The model must outlive the result.
LoadedLora load_lora(models::DiffusionModel& model, const LoraWord& word, base::EventSink& events,
                     bool is_nonfinite_allowed = false);

}  // namespace cinnabar::sample
