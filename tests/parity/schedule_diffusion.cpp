// schedule/diffusion: noise table, noise settings, losses and loss weights against the numbers of the reference.
#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "cinnabar/loss/element_loss.h"
#include "cinnabar/loss/huber_threshold.h"
#include "cinnabar/loss/loss_mask.h"
#include "cinnabar/noise/diffusion_table.h"
#include "cinnabar/noise/multires_noise.h"
#include "cinnabar/noise/noise_offset.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using nlohmann::json;

constexpr double kTableTolerance = 1e-6;  // relative (schedule/README.md)
// Of the largest element: one or two roundings of fp32 more than the reference takes.
constexpr double kTensorTolerance = 1e-6;

struct Case {
  const GoldenTensors& golden;
  Reporter& reporter;

  void expect(const std::string& name, const at::Tensor& found) const {
    reporter.result("diffusion/" + name, relative_difference(found, golden.at(name)), kTensorTolerance);
  }
  // Element by element, relative: tables span many powers of ten. The last entries of a zero-terminal table are 0 but
  // for rounding, hence the floor.
  void expect_table(const std::string& name, const at::Tensor& found) const {
    const at::Tensor expected = golden.at(name).to(at::kDouble);
    const at::Tensor scale = expected.abs().clamp_min(1e-6);
    reporter.result("diffusion/" + name, largest_difference(found.to(at::kDouble) / scale, expected / scale),
                    kTableTolerance);
  }
};

// "min_snr.eps.gamma5" with prefix "min_snr.eps.gamma" -> 5.
std::vector<std::pair<std::string, double>> numbered(const GoldenTensors& golden, const std::string& prefix) {
  std::vector<std::pair<std::string, double>> found;
  for (const auto& [name, view] : golden.checkpoint().tensors()) {
    if (name.starts_with(prefix)) found.emplace_back(name, std::stod(name.substr(prefix.size())));
  }
  return found;
}

void check_tables(const Case& test) {
  const at::Tensor latents = test.golden.at("latents");
  const at::Tensor noise = test.golden.at("noise");
  const at::Tensor timesteps = test.golden.at("timesteps");
  const noise::DiffusionTable table({.steps = test.golden.at("betas").size(0)});
  test.expect_table("betas", table.betas());
  test.expect_table("alphas_cumprod", table.alphas_cumprod());
  test.expect_table("all_snr", table.snr());
  test.expect("noisy", table.add_noise(latents, noise, timesteps));
  test.expect("velocity", table.velocity(latents, noise, timesteps));
  const noise::DiffusionTable fixed({.steps = table.steps(), .zero_terminal_snr = true});
  test.expect_table("zero_terminal.betas", fixed.betas());
  test.expect_table("zero_terminal.alphas_cumprod", fixed.alphas_cumprod());
  test.expect_table("zero_terminal.all_snr_as_sdscripts", fixed.snr());
  test.expect("zero_terminal.noisy", fixed.add_noise(latents, noise, timesteps));
  test.expect("zero_terminal.velocity", fixed.velocity(latents, noise, timesteps));
  for (const auto& [name, gamma] : numbered(test.golden, "ip_noise.gamma")) {
    test.expect(name, table.add_noise(latents, noise + gamma * test.golden.at("ip_noise.extra"), timesteps));
  }
}

void check_weights(const Case& test) {
  const noise::DiffusionTable table({.steps = test.golden.at("betas").size(0)});
  const at::Tensor ones = at::ones_like(table.snr());
  const auto factor = [&](const char* weight, double value, bool is_velocity) {
    return loss::sample_weights().at(weight).apply(ones,
                                                   {.snr = table.snr(), .value = value, .is_velocity = is_velocity});
  };
  for (const auto& [name, gamma] : numbered(test.golden, "min_snr.eps.gamma")) {
    test.expect_table(name, factor("min_snr_gamma", gamma, false));
  }
  for (const auto& [name, gamma] : numbered(test.golden, "min_snr.v.gamma")) {
    test.expect_table(name, factor("min_snr_gamma", gamma, true));
  }
  for (const auto& [name, share] : numbered(test.golden, "v_pred_like_")) {
    test.expect_table(name, factor("v_pred_like_loss", share, false));
  }
  test.expect_table("scale_v_pred", factor("scale_v_pred_loss_like_noise_pred", 1.0, true));
  test.expect_table("debiased.eps", factor("debiased_estimation_loss", 1.0, false));
  test.expect_table("debiased.v", factor("debiased_estimation_loss", 1.0, true));
}

void check_losses(const Case& test, const json& settings) {
  const at::Tensor prediction = test.golden.at("loss.pred");
  const at::Tensor target = test.golden.at("loss.target");
  const at::Tensor timesteps = test.golden.at("timesteps");
  const noise::DiffusionTable table({.steps = test.golden.at("betas").size(0)});
  const at::Tensor all = at::arange(table.steps());
  for (const std::string name : {"l2", "l1"}) {
    const at::Tensor found = loss::element_losses().at(name).apply(prediction, target, {});
    test.expect("loss." + name, found);
    test.expect("loss." + name + ".mean", found.mean().view({1}));
  }
  for (const auto& [number, values] : settings.at("losses").items()) {
    const loss::HuberOptions options{values.at("huber_c"), values.at("huber_scale"), values.at("schedule")};
    const std::string prefix = "huber." + number + ".";
    const auto threshold_at = [&](const at::Tensor& t) {
      return loss::huber_threshold(options, t, table.alphas_cumprod().index_select(0, t), table.steps());
    };
    const at::Tensor threshold = threshold_at(timesteps);
    test.expect(prefix + "threshold", threshold);
    test.expect(prefix + "threshold_all_timesteps", threshold_at(all));
    for (const std::string name : {"huber", "smooth_l1"}) {
      const at::Tensor found = loss::element_losses().at(name).apply(prediction, target, threshold.view({-1, 1, 1, 1}));
      test.expect(prefix + name, found);
      test.expect(prefix + name + ".mean", found.mean().view({1}));
    }
  }
  const at::Tensor plain = loss::element_losses().at("l2").apply(prediction, target, {});
  test.expect("mask.loss", loss::apply_mask(plain, test.golden.at("mask.image")));
  test.expect("mask.loss_conditioning",
              loss::apply_mask(plain, loss::mask_from_conditioning(test.golden.at("mask.conditioning_image"))));
}

void check_noise(const Case& test, const json& settings) {
  for (const auto& [name, values] : settings.items()) {
    if (name.starts_with("noise_offset.")) {
      const json& adaptive = values.at("adaptive_noise_scale");
      test.expect(name + ".out",
                  noise::add_noise_offset(test.golden.at("noise"), test.golden.at("latents"),
                                          test.golden.at("noise_offset.random"), values.at("noise_offset"),
                                          adaptive.is_null() ? std::nullopt : std::optional(adaptive.get<double>())));
    }
    if (!name.starts_with("pyramid.")) continue;
    const at::Tensor base = test.golden.at("pyramid.noise");
    std::vector<at::Tensor> levels;
    std::string sizes;
    for (int64_t level = 0; level < values.at("levels_used").get<int64_t>(); ++level) {
      levels.push_back(test.golden.at(name + ".random." + std::to_string(level)));
      const double uniform = values.at("uniforms").at(static_cast<size_t>(level));
      const auto [height, width] = noise::pyramid_level_size(base.size(2), base.size(3), uniform, level);
      if (height != levels.back().size(2) || width != levels.back().size(3)) sizes += " level " + std::to_string(level);
    }
    if (!sizes.empty()) test.reporter.fail("diffusion/" + name, "size differs:" + sizes);
    test.expect(name + ".out", noise::add_pyramid_noise(base, levels, values.at("discount")));
  }
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  const json settings = read_json(folder / "diffusion.json");
  const GoldenTensors golden(folder / "diffusion.safetensors");
  const Case test{golden, reporter};
  check_tables(test);
  check_weights(test);
  check_losses(test, settings);
  check_noise(test, settings);
}

}  // namespace

CINNABAR_PARITY_GROUP(schedule_diffusion, "schedule.diffusion", run);
CINNABAR_PARITY_GROUP(schedule_flow, "schedule.flow", [](const std::filesystem::path& /*folder*/, Reporter& reporter) {
  reporter.skip("flow, flow_euler", "no flow-matching families yet");
});

}  // namespace cinnabar::parity
