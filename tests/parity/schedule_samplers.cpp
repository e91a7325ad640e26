// schedule/samplers: timesteps, noise levels and every step of the samplers on the analytic denoiser of the golden.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
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

// What a case asks for: a sampler of ours, and what its name says besides the config.
struct Asked {
  std::string sampler;
  bool is_sdscripts = false;  // built by the reference's own function
};

// For a case such as "euler_a_sdscripts" or "dpmpp_2m_karras".
std::optional<Asked> asked_by(std::string name, const json& config) {
  Asked asked{.sampler = {}, .is_sdscripts = name.ends_with("_sdscripts")};
  for (const std::string suffix : {"_sdscripts", "_karras", "_trailing", "_leading", "_linspace", "_sigma_min", "_zero",
                                   "_bh1", "_bh2", "_midpoint", "_heun", "_order1", "_order2", "_order3"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  // The class of the reference is the same one for several of ours.
  const std::string algorithm = config.value("algorithm_type", "");
  if (name.starts_with("dpmpp_") && algorithm == "dpmsolver++") name = "dpmsolver++";
  if (name.starts_with("dpmpp_") && algorithm == "sde-dpmsolver++") name = "dpmpp_2m_sde";
  if (name == "pndm" && config.value("skip_prk_steps", false)) name = "plms";
  asked.sampler = name;
  return samplers::entries().find(name) == nullptr ? std::nullopt : std::optional(asked);
}

// What the config asks for that the sampler does not do, or "".
std::string unsupported(const Asked& asked, const json& config) {
  const int64_t order = config.value("solver_order", 2);
  if ((asked.sampler == "dpmsingle" || asked.sampler == "dpmpp_2m_sde") && order != 2) {
    return "solver order " + std::to_string(order);
  }
  if (config.value("variance_type", json()).is_string() && config.at("variance_type") != "fixed_small") {
    return config.at("variance_type").dump();
  }
  if (config.value("original_inference_steps", 50) != 50 || config.value("timestep_scaling", 10.0) != 10.0) {
    return "another number of distilled steps";
  }
  if (!config.value("predict_x0", true)) return "UniPC on the noise";
  for (const char* key : {"use_exponential_sigmas", "use_beta_sigmas", "use_lu_lambdas", "use_flow_sigmas",
                          "thresholding", "rescale_betas_zero_snr", "euler_at_final"}) {
    if (config.value(key, false)) return key;
  }
  return "";
}

samplers::SamplerOptions options_of(const Asked& asked, const json& config, int64_t steps) {
  const noise::DiffusionTable table({.steps = config.at("num_train_timesteps"),
                                     .beta_start = config.at("beta_start"),
                                     .beta_end = config.at("beta_end")});
  const bool is_velocity = config.at("prediction_type") == "v_prediction";
  samplers::SamplerOptions options{
      .steps = steps,
      .prediction = is_velocity ? samplers::Prediction::Velocity : samplers::Prediction::Epsilon,
      .alphas_cumprod = table.alphas_cumprod(),
      .timestep_spacing = config.value("timestep_spacing", ""),
      .has_karras_sigmas = config.value("use_karras_sigmas", false),
      // The reference switches clipping on behind the config's back, so that the config of heun does not show it.
      .clips_sample = config.value("clip_sample", false) || (asked.is_sdscripts && config.contains("clip_sample")),
      .timestep_offset = config.value("steps_offset", 0),
      .solver_order = config.value("solver_order", 0),
      .solver_type = config.value("solver_type", "")};
  if (config.contains("set_alpha_to_one")) options.ends_at_clean = config.at("set_alpha_to_one").get<bool>();
  if (config.contains("final_sigmas_type")) options.ends_at_clean = config.at("final_sigmas_type") == "zero";
  return options;
}

// Quadrature and quotients of logarithms show the reference's fp32 there (schedule/README.md).
double tolerance_per_ten_steps(const std::string& sampler) {
  const bool is_coarse = sampler == "lms" || sampler == "unipc" || sampler == "deis";
  return is_coarse ? 1e-4 : kTolerancePerTenSteps;
}

void check_levels(const std::string& name, const Asked& asked, const GoldenTensors& golden,
                  const samplers::Sampler& sampler, Reporter& reporter) {
  const at::Tensor timesteps = at::tensor(sampler.timesteps(), at::kDouble);
  // Karras timesteps are whole numbers in some samplers: fp32 levels may round to a neighbour only at an exact half.
  // The reference's fp32 loses digits of dpm_2_a's lower level in sqrt(s'^2 - u^2) when s' is far below s.
  const double tolerance = asked.sampler == "dpm_2_a" ? 10.0 * kLevelTolerance : kLevelTolerance;
  reporter.result(name + ".timesteps", relative_difference(timesteps, golden.at(name + ".timesteps")), tolerance);
  if (!golden.has(name + ".sigmas")) return;
  // Some of the reference's lists end in more zeros than there are calls.
  at::Tensor sigmas = at::tensor(sampler.sigmas(), at::kDouble);
  const at::Tensor expected = golden.at(name + ".sigmas");
  const int64_t more = expected.size(0) - sigmas.size(0);
  if (more > 0) sigmas = at::cat({sigmas, at::zeros({more}, at::kDouble)});
  reporter.result(name + ".sigmas", relative_difference(sigmas, expected), kLevelTolerance);
}

void run_case(const std::string& name, const Asked& asked, const json& settings, const json& denoiser,
              const GoldenTensors& golden, Reporter& reporter) {
  const json& config = settings.at("config");
  const at::Tensor trajectory = golden.at(name + ".trajectory");
  const int64_t steps = std::stoll(name.substr(name.rfind('.') + 1));
  const auto sampler = samplers::make_sampler(asked.sampler, options_of(asked, config, steps));
  check_levels(name, asked, golden, *sampler, reporter);
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
                          const at::Tensor expected = trajectory.select(0, call + 1);
                          // UniPC bh1 of the reference multiplies infinity by 0 in a step to level 0.
                          const bool is_number = at::isfinite(expected).all().item<bool>();
                          if (!is_number && at::isfinite(x).all().item<bool>()) return;
                          error = std::max(error, largest_difference(x, expected));
                        });
  const double largest = at::nan_to_num(trajectory, 0.0, 0.0, 0.0).abs().max().item<double>();
  // Very long steps magnify rounding, too.
  const auto count = static_cast<double>(steps);
  reporter.result(name + ".trajectory", error / largest,
                  tolerance_per_ten_steps(asked.sampler) * std::max({1.0, count / 10.0, 4.0 / count}));
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  const json cases = read_json(folder / "samplers.json");
  const GoldenTensors golden(folder / "samplers.safetensors");
  for (const auto& [name, settings] : cases.items()) {
    if (!settings.is_object() || !settings.contains("config")) continue;
    const auto asked = asked_by(name.substr(0, name.find('.')), settings.at("config"));
    const std::string missing = asked ? unsupported(*asked, settings.at("config")) : "no such sampler";
    if (missing.empty()) {
      run_case(name, *asked, settings, cases.at("denoiser"), golden, reporter);
    } else {
      reporter.skip(name, missing);
    }
  }
}

}  // namespace

CINNABAR_PARITY_GROUP(schedule_samplers, "schedule.samplers", run);

}  // namespace cinnabar::parity
