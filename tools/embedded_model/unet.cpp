// cinnabar-embedded-model unet DATA DECODER OUT STEPS: the U-Net and the text encoder, together.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/random_stream.h"
#include "cinnabar/data/picture.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/noise/diffusion_table.h"
#include "cinnabar/tensor/convert.h"
#include "commands.h"
#include "session.h"

namespace cinnabar::embedded {

namespace {

constexpr int64_t kBatch = 8;
constexpr uint64_t kSeed = 11;  // of order, noise and timesteps
constexpr double kScale = 0.18215;

struct Item {
  std::string caption;
  int64_t picture;  // row of the latents
};

struct Pictures {
  at::Tensor pixels;        // [N, 3, 64, 64]
  std::vector<Item> items;  // repeats included
  std::vector<std::string> captions;
};

Pictures read_pictures(const std::filesystem::path& base) {
  Pictures result;
  std::vector<at::Tensor> pixels;
  for (const auto& [folder, repeats] : std::vector<std::pair<std::string, int>>{{"1_colours", 1}, {"3_white", 3}}) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(base / folder)) {
      if (entry.path().extension() == ".png") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (std::filesystem::path path : paths) {
      const data::Picture picture = data::load_picture(path);
      at::Tensor tensor = at::empty({3, picture.height, picture.width}, at::kFloat);
      data::normalise_to(picture, {tensor.mutable_data_ptr<float>(), static_cast<size_t>(tensor.numel())});
      std::string caption = base::read_file(path.replace_extension(".txt"));
      caption.erase(caption.find_last_not_of(" \n") + 1);
      for (int i = 0; i < repeats; ++i) result.items.push_back({caption, static_cast<int64_t>(pixels.size())});
      pixels.push_back(tensor);
      result.captions.push_back(caption);
    }
  }
  result.pixels = at::stack(pixels);
  return result;
}

at::Tensor encode(models::DiffusionModel& model, const at::Tensor& pixels) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : pixels.split(32)) parts.push_back(model.encode_moments(part).slice(1, 0, 4) * kScale);
  return at::cat(parts);
}

void load_autoencoder(models::DiffusionModel& model, const std::string& path) {
  const at::NoGradGuard no_grad;
  const auto file = formats::Checkpoint::open(path);
  for (auto& [name, value] : trainable(model.vae(), "first_stage_model")) {
    value->copy_(tensor::copy(file->at(name), at::kFloat));
  }
}

void normal_start(at::Tensor& table, double deviation, uint64_t seed) {
  const at::NoGradGuard no_grad;
  at::Tensor values = at::empty(table.sizes(), at::kFloat);
  base::RandomStream random(seed, base::Purpose::ModelInit);
  random.fill_normal({values.mutable_data_ptr<float>(), static_cast<size_t>(values.numel())});
  table.copy_(values * deviation);
}

struct Batch {
  at::Tensor latents;    // [B, 4, 16, 16]
  at::Tensor noise;      // like latents
  at::Tensor timesteps;  // [B]
  std::vector<std::string> captions;
};

// Pictures by an order shuffled anew each epoch; timesteps spread evenly over the batch.
Batch make_batch(const Pictures& pictures, const at::Tensor& latents, int64_t step) {
  const int64_t per_epoch = static_cast<int64_t>(pictures.items.size()) / kBatch;
  std::vector<int64_t> order(pictures.items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  base::RandomStream shuffle(kSeed, base::Purpose::Shuffle, static_cast<uint64_t>(step / per_epoch));
  shuffle.shuffle(std::span<int64_t>(order));

  base::RandomStream random(kSeed, base::Purpose::Noise, static_cast<uint64_t>(step));
  Batch batch;
  std::vector<at::Tensor> chosen;
  std::vector<int64_t> timesteps;
  for (int64_t i = 0; i < kBatch; ++i) {
    const Item& item = pictures.items[static_cast<size_t>(order[static_cast<size_t>(step % per_epoch * kBatch + i)])];
    chosen.push_back(latents[item.picture]);
    batch.captions.push_back(random.uniform() < 0.1 ? "" : item.caption);
    timesteps.push_back(static_cast<int64_t>(1000 * (static_cast<double>(i) + random.uniform()) / kBatch));
  }
  batch.latents = at::stack(chosen);
  batch.timesteps = at::tensor(timesteps);
  batch.noise = at::empty_like(batch.latents);
  random.fill_normal({batch.noise.mutable_data_ptr<float>(), static_cast<size_t>(batch.noise.numel())});
  return batch;
}

// DDIM, 20 steps at t = 999, 949, ..., 49, all prompts at once. Returns scaled latents.
at::Tensor sample(models::DiffusionModel& model, const noise::DiffusionTable& table,
                  const std::vector<std::string>& prompts, double guidance, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const int64_t count = static_cast<int64_t>(prompts.size());
  const models::TextOptions text;
  const auto positive = model.encode_text(model.tokenize(prompts, text), text);
  const auto negative = model.encode_text(model.tokenize(std::vector<std::string>(prompts.size()), text), text);
  models::Conditioning both;
  both.context = at::cat({negative.context, positive.context});
  at::Tensor x = at::empty({count, 4, 16, 16}, at::kFloat);
  base::RandomStream random(seed, base::Purpose::SamplerNoise);
  random.fill_normal({x.mutable_data_ptr<float>(), static_cast<size_t>(x.numel())});
  for (int64_t t = 999; t > 0; t -= 50) {
    const auto halves = model.predict(at::cat({x, x}), at::full({2 * count}, t), both).chunk(2);
    const at::Tensor v = halves[0] + guidance * (halves[1] - halves[0]);
    const double a = table.alphas_cumprod()[t].item<double>();
    const double next = t >= 50 ? table.alphas_cumprod()[t - 50].item<double>() : 1.0;
    const at::Tensor clean = std::sqrt(a) * x - std::sqrt(1 - a) * v;
    const at::Tensor noise = std::sqrt(a) * v + std::sqrt(1 - a) * x;
    x = std::sqrt(next) * clean + std::sqrt(1 - next) * noise;
  }
  return x;
}

// Each subject on background 3 i mod 10 of the sorted names, two seeds: is the nearest of the 32 templates its own?
void report_nearest(models::DiffusionModel& model, const noise::DiffusionTable& table, const Pictures& pictures,
                    const at::Tensor& latents) {
  std::map<std::string, std::map<std::string, int64_t>> by_background;  // background -> subject -> row
  for (size_t i = 0; i < pictures.captions.size(); ++i) {
    const std::string& caption = pictures.captions[i];
    const size_t cut = caption.find(" on a ");
    by_background[caption.substr(cut)][caption.substr(0, cut)] = static_cast<int64_t>(i);
  }
  std::vector<std::string> backgrounds;
  for (const auto& [name, subjects] : by_background) backgrounds.push_back(name);
  int right = 0;
  int total = 0;
  double distance_sum = 0;
  for (const uint64_t seed : {1, 2}) {
    std::vector<std::string> prompts;
    size_t index = 0;
    for (const auto& [subject, row] : by_background.begin()->second) {
      prompts.push_back(subject + backgrounds[3 * index++ % backgrounds.size()]);
    }
    const at::Tensor sampled = sample(model, table, prompts, 2.0, seed);
    for (size_t i = 0; i < prompts.size(); ++i) {
      const std::string background = prompts[i].substr(prompts[i].find(" on a "));
      const std::string own = prompts[i].substr(0, prompts[i].find(" on a "));
      std::string nearest;
      double best = 1e9;
      for (const auto& [subject, row] : by_background[background]) {
        const double distance = (sampled[static_cast<int64_t>(i)] - latents[row]).square().mean().sqrt().item<double>();
        if (subject == own) distance_sum += distance;
        if (distance < best) {
          best = distance;
          nearest = subject;
        }
      }
      right += nearest == own;
      ++total;
      if (nearest != own) std::printf("  %s looks like %s\n", prompts[i].c_str(), nearest.c_str());
    }
  }
  std::printf("nearest template: %d of %d, mean distance to the own one %.3f\n", right, total, distance_sum / total);
}

}  // namespace

int train_unet(const std::string& data, const std::string& vae, const std::string& out, int64_t steps) {
  auto model = models::model_families().at("sd1").create({.size = "tiny", .seed = 0});
  load_autoencoder(*model, vae);
  model->vae().requires_grad(false);
  const Pictures pictures = read_pictures(data + "/base");
  const at::Tensor latents = encode(*model, pictures.pixels);
  std::printf("%d pictures, %d with repeats\n", static_cast<int>(latents.size(0)),
              static_cast<int>(pictures.items.size()));

  std::vector<std::pair<std::string, at::Tensor*>> parameters;
  for (models::ModelPart& part : model->parts()) {
    for (auto& [name, value] : trainable(*part.module, part.name)) {
      if (name.ends_with("token_embedding.weight")) normal_start(*value, 0.05, 5);
      if (name.ends_with("position_embedding.weight")) normal_start(*value, 0.02, 6);
      parameters.emplace_back(name, value);
    }
    part.module->train(true);
  }
  const noise::DiffusionTable table;
  Session session(parameters,
                  {.lr = 1.5e-3, .beta2 = 0.98, .steps = steps, .warmup = 200, .constant_share = 0.2, .floor = 0.03});
  const models::TextOptions text;
  double loss_sum = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = make_batch(pictures, latents, step);
    const auto conditioning = model->encode_text(model->tokenize(batch.captions, text), text);
    const at::Tensor noisy = table.add_noise(batch.latents, batch.noise, batch.timesteps);
    const at::Tensor target = table.velocity(batch.latents, batch.noise, batch.timesteps);
    const at::Tensor loss = (model->predict(noisy, batch.timesteps, conditioning) - target).square().mean();
    loss.backward();
    session.step();
    loss_sum += loss.item<double>();
    if ((step + 1) % 50 == 0) {
      std::printf("unet step %d loss %.4f\n", static_cast<int>(step + 1), loss_sum / 50);
      std::fflush(stdout);
      loss_sum = 0;
    }
    if ((step + 1) % 600 == 0 || step + 1 == steps) {
      session.swap_average();
      save_model(*model, out, at::kFloat);
      if (step + 1 == steps) report_nearest(*model, table, pictures, latents);
      session.swap_average();
    }
  }
  return 0;
}

int join(const std::string& vae, const std::string& rest, const std::string& out) {
  models::LoadOptions options;
  auto model = models::load_model(rest, options);
  load_autoencoder(*model, vae);
  save_model(*model, out, at::kHalf);
  return 0;
}

}  // namespace cinnabar::embedded
