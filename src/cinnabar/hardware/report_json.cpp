#include <cmath>
#include <nlohmann/json.hpp>

#include "cinnabar/hardware/advice.h"
#include "cinnabar/hardware/environment.h"
#include "cinnabar/hardware/problem_text.h"
#include "cinnabar/hardware/report.h"
#include "cinnabar/hardware/rules.h"

namespace cinnabar::hardware {

namespace {

using nlohmann::ordered_json;

ordered_json value(const std::optional<std::string>& text) { return text ? ordered_json(*text) : ordered_json(); }
ordered_json value(const std::optional<int64_t>& number) { return number ? ordered_json(*number) : ordered_json(); }
ordered_json value(const std::optional<int>& number) { return number ? ordered_json(*number) : ordered_json(); }

// Whole numbers without a point.
ordered_json value(const std::optional<double>& number) {
  if (!number) return {};
  const double rounded = std::round(*number * 1000.0) / 1000.0;
  if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15) return static_cast<int64_t>(rounded);
  return rounded;
}

ordered_json device_id(const Gpu& gpu) {
  if (!gpu.device_id) return {};
  char text[16];
  std::snprintf(text, sizeof(text), "0x%04x", static_cast<unsigned>(*gpu.device_id));
  return text;
}

ordered_json to_json(const Gpu& gpu) {
  ordered_json json = {{"name", gpu.name},          {"vendor", gpu.vendor},
                       {"pci_bdf", value(gpu.bdf)}, {"pci_device_id", device_id(gpu)},
                       {"gfx", value(gpu.gfx)},     {"effective_gfx", value(gpu.effective_gfx)},
                       {"arch", value(gpu.arch)}};
  if (gpu.vendor == "nvidia") json["compute_capability"] = value(gpu.compute_capability);
  json["compute_units"] = value(gpu.compute_units);
  json["wave_size"] = value(gpu.wave_size);
  json["vram_bytes"] = value(gpu.vram_bytes);
  json["vram_used_bytes"] = value(gpu.vram_used_bytes);
  if (gpu.unified_memory_bytes) json["unified_memory_bytes"] = *gpu.unified_memory_bytes;
  json["is_integrated"] = gpu.is_integrated;
  json["precisions"] = {{"fp32", true},
                        {"fp16", true},
                        {"bf16", gpu.precisions.bf16},
                        {"fp8", gpu.precisions.fp8},
                        {"fp8_storage", true}};
  json["sdpa"] = gpu.sdpa;
  json["utilisation_percent"] = value(gpu.utilisation_percent);
  json["temperature_c"] = value(gpu.temperature_c);
  json["power_w"] = value(gpu.power_w);
  return json;
}

ordered_json to_json(const Warning& warning) {
  ordered_json json = {{"code", warning.code}, {"severity", warning.severity}, {"gpu", value(warning.gpu)}};
  if (warning.fix_group) json["fix_group"] = *warning.fix_group;
  if (!warning.fix_docker_args.empty()) json["fix_docker_args"] = warning.fix_docker_args;
  if (!warning.set_env.empty()) json["set_env"] = warning.set_env;
  if (warning.tool) json["tool"] = *warning.tool;
  if (warning.code == "GFX_NOT_IN_LIBTORCH") json["suggest_override"] = value(warning.suggest_override);
  return json;
}

ordered_json problems_json(const Machine& machine) {
  ordered_json list = ordered_json::array();
  for (const Warning& warning : machine.warnings) {
    const ProblemText text = problem_text(machine, warning);
    list.push_back({{"code", warning.code},
                    {"severity", warning.severity},
                    {"gpu", value(warning.gpu)},
                    {"cause", text.cause},
                    {"remedy", text.remedy}});
  }
  return list;
}

ordered_json details_json(const Machine& machine) {
  const Host& host = machine.host;
  ordered_json environment = ordered_json::array();
  for (const EnvironmentSetting& setting : environment_settings(machine, kShownCache)) {
    environment.push_back({{"name", setting.name},
                           {"value", value(setting.value)},
                           {"is_users", setting.is_users},
                           {"reason", setting.reason}});
  }
  ordered_json options = ordered_json::array();
  for (const AdvisedOption& option : advised_options(machine)) {
    options.push_back({{"name", option.name}, {"value", option.value}, {"reason", option.reason}});
  }
  ordered_json families = ordered_json::array();
  for (const FamilyAdvice& family : family_advice(machine)) {
    families.push_back({{"family", family.family}, {"settings", family.settings}});
  }
  return {{"system", machine.platform.system_name},
          {"kernel", machine.platform.kernel},
          {"cpu",
           {{"name", host.cpu_name},
            {"logical_cpus", value(host.logical_cpus)},
            {"limit", value(host.cpu_limit)},
            {"features", host.cpu_features}}},
          {"memory",
           {{"total_bytes", value(host.memory_bytes)},
            {"available_bytes", value(host.available_bytes)},
            {"limit_bytes", value(host.memory_limit_bytes)}}},
          {"libtorch",
           {{"is_present", machine.libtorch.is_present},
            {"version", value(machine.libtorch.version)},
            {"hip", value(machine.libtorch.hip)},
            {"cuda", value(machine.libtorch.cuda)},
            {"arch_list", machine.libtorch.arch_list}}},
          {"is_blocked", is_blocked(machine)},
          {"problems", problems_json(machine)},
          {"environment", environment},
          {"advised_options", options},
          {"families", families}};
}

}  // namespace

std::string report_json(const Machine& machine, bool with_details) {
  const Platform& platform = machine.platform;
  ordered_json gpus = ordered_json::array();
  for (const Gpu& gpu : machine.gpus) gpus.push_back(to_json(gpu));
  ordered_json warnings = ordered_json::array();
  for (const Warning& warning : machine.warnings) warnings.push_back(to_json(warning));
  const Recommendation& advice = machine.recommendation;
  ordered_json report = {{"schema", 1},
                         {"case", machine.case_name},
                         {"backend", machine.backend},
                         {"platform",
                          {{"os", "linux"},
                           {"wsl", platform.is_wsl},
                           {"container", platform.is_container},
                           {"amdgpu_loaded", platform.is_amdgpu_loaded},
                           {"amdgpu_version", value(platform.amdgpu_version)},
                           {"rocm_version", value(platform.rocm_version)}}},
                         {"gpus", gpus},
                         {"default_gpu", value(machine.default_gpu)},
                         {"visible_devices_env", nullptr},
                         {"warnings", warnings},
                         {"recommendation",
                          {{"source", advice.source},
                           {"batch_size", advice.batch_size},
                           {"gradient_accumulation", advice.gradient_accumulation},
                           {"preset_precision", advice.preset_precision},
                           {"effective_compute_precision", advice.effective_compute_precision},
                           {"max_params_billion", advice.max_params_billion}}}};
  if (!machine.visible_devices_env.empty()) report["visible_devices_env"] = machine.visible_devices_env;
  if (with_details) report["details"] = details_json(machine);
  return report.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace cinnabar::hardware
