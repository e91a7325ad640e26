// schedule/samplers: timesteps, noise levels and every step of the samplers on the analytic denoiser of the golden.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cinnabar/noise/diffusion_table.h"
#include "cinnabar/samplers/entry.h"
#include "cinnabar/samplers/sampler.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using nlohmann::json;

constexpr double kTolerancePerTenSteps = 1e-5;  // of the trajectory's scale (schedule/README.md)
constexpr double kLevelTolerance = 2e-6;        // of the largest level; the reference keeps them in fp32

// Sampler of ours for a case such as "euler_a_sdscripts" or "dpmpp_2m_karras"; what else matters is in its config.
std::optional<std::string> sampler_name(std::string name) {
  const std::map<std::string, std::string> same{{"dpmpp_2m", "dpmsolver++"}, {"dpmpp_3m", "dpmsolver++"}};
  for (const std::string suffix : {"_sdscripts", "_karras", "_trailing", "_leading"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  const auto found = same.find(name);
  if (found != same.end()) name = found->second;
  return samplers::entries().find(name) == nullptr ? std::nullopt : std::optional(name);
}

// What the config asks for that the sampler does not do, or "".
std::string unsupported(const json& config) {
  if (config.value("solver_order", 2) != 2) return "solver order " + config.at("solver_order").dump();
  if (config.value("algorithm_type", "dpmsolver++") != "dpmsolver++") return config.at("algorithm_type").dump();
  if (config.value("final_sigmas_type", "zero") != "zero")
    return "final_sigmas_type " + config.at("final_sigmas_type").dump();
  for (const char* key : {"use_exponential_sigmas", "use_beta_sigmas", "use_lu_lambdas", "use_flow_sigmas",
                          "thresholding", "rescale_betas_zero_snr", "euler_at_final"}) {
    if (config.value(key, false)) return key;
  }
  return "";
}

samplers::SamplerOptions options_of(const json& config, int64_t steps) {
  const noise::DiffusionTable table({.steps = config.at("num_train_timesteps"),
                                     .beta_start = config.at("beta_start"),
                                     .beta_end = config.at("beta_end")});
  const bool is_velocity = config.at("prediction_type") == "v_prediction";
  return {.steps = steps,
          .prediction = is_velocity ? samplers::Prediction::Velocity : samplers::Prediction::Epsilon,
          .alphas_cumprod = table.alphas_cumprod(),
          .timestep_spacing = config.at("timestep_spacing"),
          .has_karras_sigmas = config.value("use_karras_sigmas", false),
          .clips_sample = config.value("clip_sample", false),
          .timestep_offset = config.value("steps_offset", 0),
          .ends_at_clean = config.value("set_alpha_to_one", true)};
}

void check_levels(const std::string& name, const GoldenTensors& golden, const samplers::Sampler& sampler,
                  Reporter& reporter) {
  const at::Tensor timesteps = at::tensor(sampler.timesteps(), at::kDouble);
  // Karras timesteps are whole numbers in some samplers: fp32 levels may round to a neighbour only at an exact half.
  reporter.result(name + ".timesteps", relative_difference(timesteps, golden.at(name + ".timesteps")), kLevelTolerance);
  if (!golden.has(name + ".sigmas")) return;
  const at::Tensor sigmas = at::tensor(sampler.sigmas(), at::kDouble);
  reporter.result(name + ".sigmas", relative_difference(sigmas, golden.at(name + ".sigmas")), kLevelTolerance);
}

void run_case(const std::string& name, const std::string& sampler_name, const json& settings, const json& denoiser,
              const GoldenTensors& golden, Reporter& reporter) {
  const json& config = settings.at("config");
  const at::Tensor trajectory = golden.at(name + ".trajectory");
  const int64_t steps = std::stoll(name.substr(name.rfind('.') + 1));
  const auto sampler = samplers::make_sampler(sampler_name, options_of(config, steps));
  check_levels(name, golden, *sampler, reporter);
  const double scale = settings.at("init_noise_sigma");
  reporter.result(name + ".init_noise_sigma", std::abs(sampler->initial_scale() - scale) / scale, kLevelTolerance);
  const double a = denoiser.at("a");
  const double b = denoiser.at("b");
  const double c = denoiser.at("c");
  const samplers::Model model = [&](const at::Tensor& x, double timestep) {
    return a * x + b * std::sin(timestep / 100.0) + c * (3.0 * x).cos();
  };
  const samplers::NoiseFunction noise = [&](int64_t call, const at::Tensor& /*x*/) {
    const int64_t drawn =
        call == 0 ? 0 : settings.at("noise_drawn_after_step").at(static_cast<size_t>(call - 1)).get<int64_t>();
    return golden.at(name + ".noise").select(0, drawn);
  };
  double error = 0.0;
  samplers::run_sampler(*sampler, golden.at("initial_unit_noise") * sampler->initial_scale(), model, noise,
                        [&](int64_t call, const at::Tensor& x) {
                          const double difference = largest_difference(x, trajectory.select(0, call + 1));
                          error = std::max(error, difference);
                        });
  const double largest = trajectory.abs().max().item<double>();
  reporter.result(name + ".trajectory", error / largest,
                  kTolerancePerTenSteps * std::max(1.0, static_cast<double>(steps) / 10.0));
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  const json cases = read_json(folder / "samplers.json");
  const GoldenTensors golden(folder / "samplers.safetensors");
  for (const auto& [name, settings] : cases.items()) {
    if (!settings.is_object() || !settings.contains("config")) continue;
    const auto sampler = sampler_name(name.substr(0, name.find('.')));
    const std::string missing = sampler ? unsupported(settings.at("config")) : "no such sampler yet";
    if (missing.empty()) {
      run_case(name, *sampler, settings, cases.at("denoiser"), golden, reporter);
    } else {
      reporter.skip(name, missing);
    }
  }
  reporter.skip("flow_euler", "no flow-matching families yet");
}

}  // namespace

CINNABAR_PARITY_GROUP(schedule_samplers, "schedule.samplers", run);

}  // namespace cinnabar::parity
