// cinnabar-embedded-model decoder DATA OUT [STEPS]: linear start, fold, training of the decoder alone.
#include <cmath>
#include <cstdio>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/models/model_family.h"
#include "commands.h"
#include "linear_start.h"
#include "picture_source.h"
#include "session.h"

namespace cinnabar::embedded {

namespace {

constexpr uint64_t kDecoderSeed = 0;
constexpr int64_t kWindow = 32;

// All subjects on all backgrounds, [N, 3, 64, 64].
at::Tensor subject_pictures(const PictureSource& source) {
  std::vector<at::Tensor> pictures;
  for (int64_t subject = 0; subject < source.subject_count(); ++subject) {
    for (int64_t background = 0; background < PictureSource::kBackgrounds; ++background) {
      pictures.push_back(source.subject(subject, background));
    }
  }
  return at::stack(pictures);
}

at::Tensor posterior_means(models::DiffusionModel& model, const at::Tensor& pictures) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> means;
  for (const at::Tensor& part : pictures.split(32)) means.push_back(model.encode_moments(part).slice(1, 0, 4));
  return at::cat(means);
}

void start_and_fold(models::DiffusionModel& model, const at::Tensor& pictures) {
  const Parameters vae = parameters_of(model.vae());
  write_linear_start(vae);
  const at::Tensor latents = posterior_means(model, pictures).transpose(0, 1).flatten(1);  // [4, N h w]
  fold_statistics(vae, latents.mean(1), latents.std(1));
  const at::Tensor folded = posterior_means(model, pictures).transpose(0, 1).flatten(1) * 0.18215;
  for (int64_t c = 0; c < 4; ++c) {
    std::printf("  channel %d mean %.4f deviation %.4f\n", static_cast<int>(c), folded[c].mean().item<double>(),
                folded[c].std().item<double>());
  }
  const at::NoGradGuard no_grad;
  for (const double level : {-1.0, 1.0}) {
    const at::Tensor flat = at::full({1, 3, 64, 64}, level);
    const at::Tensor decoded = model.decode(model.encode_moments(flat).slice(1, 0, 4));
    std::printf("  flat %.0f decodes to %.3f .. %.3f\n", level, decoded.min().item<double>(),
                decoded.max().item<double>());
  }
}

at::Tensor decoder_loss(const at::Tensor& decoded, const at::Tensor& target) {
  const at::Tensor e = decoded - target;
  const at::Tensor dx = e.slice(3, 1) - e.slice(3, 0, e.size(3) - 1);
  const at::Tensor dy = e.slice(2, 1) - e.slice(2, 0, e.size(2) - 1);
  const auto colour = e.unbind(1);
  const at::Tensor chroma =
      (colour[0] - colour[1]).abs().mean() + (colour[2] - (colour[0] + colour[1]) / 2).abs().mean();
  return e.abs().mean() + e.square().mean() + 0.5 * (dx.abs().mean() + dy.abs().mean()) + 0.5 * chroma;
}

// Peak signal-to-noise ratio in dB of 32 emoji of the whole list on four backgrounds.
double check_psnr(models::DiffusionModel& model, const PictureSource& source) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> pictures;
  for (int64_t i = 0; i < 32; ++i) {
    for (const int64_t background : {0, 1, 6, 7}) pictures.push_back(source.emoji(i * 31 + 3, background));
  }
  const at::Tensor target = at::stack(pictures);
  const at::Tensor decoded = model.decode(posterior_means(model, target)).clamp(-1, 1);
  return -10 * std::log10(((decoded - target) / 2).square().mean().item<double>());
}

// One batch: a window of six pictures at first, two whole pictures in the last quarter.
at::Tensor training_batch(const PictureSource& source, int64_t step, int64_t steps) {
  const bool is_window = step < steps * 3 / 4;
  base::RandomStream random(kDecoderSeed + 1, base::Purpose::Synthetic, static_cast<uint64_t>(step));
  std::vector<at::Tensor> pictures;
  for (int64_t i = 0; i < (is_window ? 6 : 2); ++i) pictures.push_back(source.random(random));
  const at::Tensor batch = at::stack(pictures);
  if (!is_window) return batch;
  const int64_t top = random.integer(6, 27);
  const int64_t left = random.integer(6, 27);
  return batch.slice(2, top, top + kWindow).slice(3, left, left + kWindow).contiguous();
}

}  // namespace

int train_decoder(const std::string& data, const std::string& out, int64_t steps) {
  const PictureSource source(data + "/emoji.safetensors");
  auto model = models::model_families().at("sd1").create({.size = "tiny", .seed = kDecoderSeed});
  for (models::ModelPart& part : model->parts()) part.module->requires_grad(false);
  model->vae().requires_grad(false);
  start_and_fold(*model, subject_pictures(source));
  std::printf("start: %.2f dB\n", check_psnr(*model, source));

  std::vector<std::pair<std::string, at::Tensor*>> parameters;
  for (auto& [name, value] : trainable(model->vae(), "")) {
    if (name.starts_with("decoder.")) parameters.emplace_back(name, value);
  }
  Session session(parameters, {.lr = 7e-4, .beta2 = 0.95, .weight_decay = 1e-4, .steps = steps});
  double loss_sum = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const at::Tensor pixels = training_batch(source, step, steps);
    at::Tensor latents;
    {
      const at::NoGradGuard no_grad;
      const at::Tensor moments = model->encode_moments(pixels);
      at::Tensor noise = at::empty_like(moments.slice(1, 0, 4), at::MemoryFormat::Contiguous);
      base::RandomStream random(kDecoderSeed, base::Purpose::LatentSample, static_cast<uint64_t>(step));
      random.fill_normal({noise.mutable_data_ptr<float>(), static_cast<size_t>(noise.numel())});
      latents = moments.slice(1, 0, 4) + (moments.slice(1, 4, 8) * 0.5).exp() * noise;
    }
    const at::Tensor loss = decoder_loss(model->decode(latents), pixels);
    loss.backward();
    session.step();
    loss_sum += loss.item<double>();
    if ((step + 1) % 250 == 0) {
      session.swap_average();
      std::printf("decoder step %d loss %.4f psnr %.2f dB\n", static_cast<int>(step + 1), loss_sum / 250,
                  check_psnr(*model, source));
      save_model(*model, out, at::kFloat);
      session.swap_average();
      loss_sum = 0;
      std::fflush(stdout);
    }
  }
  session.swap_average();
  save_model(*model, out, at::kFloat);
  std::printf("decoder done: %.2f dB, written to %s\n", check_psnr(*model, source), out.c_str());
  return 0;
}

}  // namespace cinnabar::embedded
