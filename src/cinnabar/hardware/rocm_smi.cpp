#include <nlohmann/json.hpp>

#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/smi.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

using nlohmann::json;

// All values are texts.
std::string card_text(const json& card, const std::string& key) {
  const auto found = card.find(key);
  if (found == card.end() || !found->is_string() || !is_known(found->get<std::string>())) return {};
  return trimmed(found->get<std::string>());
}

std::optional<int64_t> card_whole(const json& card, const std::string& key) { return integer_of(card_text(card, key)); }

// The value of a label that depends on the chip: "Average Graphics Package Power (W)", "Current Socket ...".
std::optional<double> number_like(const json& card, std::string_view part) {
  for (const auto& [key, value] : card.items()) {
    if (contains(key, part) && value.is_string()) {
      const auto number = number_of(value.get<std::string>());
      if (number) return number;
    }
  }
  return std::nullopt;
}

SmiGpu gpu_of_card(const json& card) {
  SmiGpu gpu;
  gpu.bdf = normal_bdf(card_text(card, "PCI Bus"));
  gpu.node = card_whole(card, "Node ID");
  gpu.gpu_id = card_whole(card, "GUID");
  gpu.name = card_text(card, "Card Series");
  // Older versions write the device id where the name belongs.
  if (gpu.name.starts_with("0x")) gpu.name.clear();
  gpu.device_id = card_whole(card, "Card Model");
  gpu.revision = card_whole(card, "Device Rev");
  gpu.gfx = normal_gfx(card_text(card, "GFX Version"));
  gpu.vram_bytes = card_whole(card, "VRAM Total Memory (B)");
  gpu.vram_used_bytes = card_whole(card, "VRAM Total Used Memory (B)");
  gpu.utilisation_percent = number_of(card_text(card, "GPU use (%)"));
  gpu.temperature_c = number_of(card_text(card, "Temperature (Sensor edge) (C)"));
  if (!gpu.temperature_c) gpu.temperature_c = number_of(card_text(card, "Temperature (Sensor junction) (C)"));
  gpu.power_w = number_like(card, "Package Power (W)");
  return gpu;
}

}  // namespace

SmiReport read_rocm_smi(const Sources& sources) {
  const CommandResult result = sources.run(command_line::kRocmSmi);
  SmiReport report;
  if (!result.is_installed()) return report;
  report.is_installed = true;
  const json value = json::parse(json_part(result.output), nullptr, false);
  if (result.exit != 0 || !value.is_object()) {
    report.is_invalid = true;
    report.reason = trimmed(result.output.substr(0, 200));
    return report;
  }
  for (const auto& [key, card] : value.items()) {
    if (key.starts_with("card") && card.is_object()) report.gpus.push_back(gpu_of_card(card));
  }
  return report;
}

}  // namespace cinnabar::hardware
