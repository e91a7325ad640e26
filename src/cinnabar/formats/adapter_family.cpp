#include "cinnabar/formats/adapter_family.h"

#include <array>
#include <string_view>

namespace cinnabar::formats {

namespace {

struct Family {
  std::string_view name;
  std::string_view shown;
  std::string_view version;       // how ss_base_model_version begins
  std::string_view architecture;  // how modelspec.architecture begins
  int64_t context;                // inputs of the keys of cross attention, in original sizes
};
// The longer beginnings first.
constexpr std::array kFamilies = {Family{"sdxl", "SDXL", "sdxl", "stable-diffusion-xl", 2048},
                                  Family{"sd2", "SD 2", "sd_v2", "stable-diffusion-v2", 1024},
                                  Family{"sd1", "SD 1", "sd_v1", "stable-diffusion-v1", 768}};

std::string text_of(const Checkpoint& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string() : found->second;
}

std::string shown(const std::string& name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return std::string(family.shown);
  }
  return name;
}

std::string by_tensors(const Checkpoint& file) {
  for (const auto& [key, tensor] : file.tensors()) {
    // Only SDXL has two text encoders.
    if (key.starts_with("lora_te1_") || key.starts_with("lora_te2_")) return "sdxl";
    const bool is_context = key.find("attn2_to_k") != std::string::npos && key.ends_with("lora_down.weight");
    if (!is_context || tensor.shape.size() < 2) continue;
    for (const Family& family : kFamilies) {
      if (tensor.shape[1] == family.context) return std::string(family.name);
    }
  }
  return {};
}

}  // namespace

std::string adapter_family(const Checkpoint& file) {
  const std::string version = text_of(file, "ss_base_model_version");
  const std::string architecture = text_of(file, "modelspec.architecture");
  for (const Family& family : kFamilies) {
    if (version.starts_with(family.version)) return std::string(family.name);
  }
  for (const Family& family : kFamilies) {
    if (version.empty() && architecture.starts_with(family.architecture)) return std::string(family.name);
  }
  if (!version.empty()) return version;
  return architecture.empty() ? by_tensors(file) : architecture.substr(0, architecture.find('/'));
}

std::string other_family_text(const Checkpoint& file, const std::string& model_family) {
  const std::string family = adapter_family(file);
  if (family.empty() || family == model_family) return {};
  return "; the file was made for " + shown(family) + ", and this model is of the family " + shown(model_family) +
         ": use it with a model of its own family";
}

}  // namespace cinnabar::formats
