#include "cinnabar/train/demo.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/data/picture.h"
#include "cinnabar/data/png_writer.h"
#include "cinnabar/data/resize.h"
#include "cinnabar/sample/generator.h"
#include "cinnabar/sample/grid.h"
#include "cinnabar/sample/lora_file.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/train/loaded_model.h"
#include "cinnabar/train/trainer.h"

namespace cinnabar::train {

namespace {

// Of the measurements in docs/embedded_model.md: every picture before is farther than 1.0, every one after nearer than
// 0.8, also after the quick run.
constexpr double kFarBefore = 1.0;
constexpr double kNearAfter = 0.8;
constexpr double kScale = 2.0;  // guidance; more oversaturates this small model

// Half of these backgrounds were never seen with the character.
const std::vector<std::string>& backgrounds() {
  static const std::vector<std::string> kNames = {"white",  "green",  "blue", "purple",
                                                  "orange", "yellow", "red",  "grey"};
  return kNames;
}

schema::Values base_values(const schema::Values& values) {
  const schema::Schema schema = schema::train_schema();
  const bool is_quick = values.flag("quick");
  const std::string seed = std::to_string(values.maybe_integer("seed").value_or(1));
  const std::vector<std::string> words = {"--pretrained_model_name_or_path",
                                          "embedded",
                                          "--train_data_dir",
                                          "embedded",
                                          "--resolution",
                                          "64",
                                          "--output_dir",
                                          values.text("output_dir"),
                                          "--output_name",
                                          "zibo",
                                          "--caption_extension",
                                          ".txt",
                                          "--train_batch_size",
                                          is_quick ? "4" : "8",
                                          "--network_module",
                                          "networks.lora",
                                          "--network_dim",
                                          "8",
                                          "--network_alpha",
                                          "8",
                                          "--network_args",
                                          "conv_dim=8",
                                          "conv_alpha=8",
                                          "--learning_rate",
                                          is_quick ? "4e-3" : "3e-3",
                                          "--optimizer_type",
                                          "AdamW",
                                          "--optimizer_args",
                                          "betas=0.9,0.99",
                                          "--lr_scheduler",
                                          "cosine",
                                          "--lr_warmup_steps",
                                          "10",
                                          "--max_train_steps",
                                          is_quick ? "50" : "160",
                                          "--cache_latents",
                                          "--vae_batch_size",
                                          "8",
                                          "--seed",
                                          seed,
                                          "--device",
                                          values.maybe_text("device").value_or("auto")};
  return schema::read_config(schema, "train", words).values;
}

struct Pictures {
  std::vector<data::Picture> pictures;
  std::vector<double> distances;
};

// Root mean square difference of scaled latents: 0 is the drawing itself, 1.1 another subject on the same background.
Pictures make_pictures(const LoadedModel& loaded, uint64_t seed, const std::atomic<bool>& stop) {
  models::DiffusionModel& model = *loaded.model;
  std::vector<sample::SampleRequest> requests;
  for (const std::string& background : backgrounds()) {
    requests.push_back({.prompt = "zibo on a " + background + " background",
                        .width_px = 64,
                        .height_px = 64,
                        .steps = 20,
                        .scale = kScale,
                        .seed = seed});
  }
  sample::Generator generator(model, {.batch_size = static_cast<int64_t>(requests.size()), .stop = &stop});
  Pictures result;
  result.pictures.resize(requests.size());
  result.distances.resize(requests.size());
  const at::NoGradGuard no_grad;
  generator.run(requests, [&](size_t index, sample::Generated&& made) {
    const data::Picture drawing =
        data::load_picture(base::resource("embedded/drawings/zibo_" + backgrounds()[index] + ".png"));
    at::Tensor pixels = at::empty({1, 3, drawing.height, drawing.width}, at::kFloat);
    data::normalise_to(drawing, {pixels.mutable_data_ptr<float>(), static_cast<size_t>(pixels.numel())});
    const at::Tensor moments = model.encode_moments(pixels.to(loaded.device)).to(at::kCPU, at::kFloat);
    const at::Tensor wanted = moments[0].slice(0, 0, moments.size(1) / 2) * model.info().latent_scale;
    result.distances[index] = (made.latents - wanted).square().mean().sqrt().item<double>();
    result.pictures[index] = std::move(made.picture);
  });
  return result;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Rows: the drawings asked for, before, after; each cell four times as large, so that it can be looked at.
void save_grid(const std::filesystem::path& path, const Pictures& before, const Pictures& after) {
  std::vector<data::Picture> cells;
  for (const std::string& background : backgrounds()) {
    cells.push_back(data::load_picture(base::resource("embedded/drawings/zibo_" + background + ".png")));
  }
  cells.insert(cells.end(), before.pictures.begin(), before.pictures.end());
  cells.insert(cells.end(), after.pictures.begin(), after.pictures.end());
  for (data::Picture& cell : cells) {
    cell = data::resized(cell, {cell.width * 2, cell.height * 2}, data::Interpolation::Nearest);
  }
  const sample::GridOptions options{.columns = static_cast<int64_t>(backgrounds().size()), .gap_px = 6};
  data::save_png(path, sample::join_grid(cells, options),
                 {{"Description", "Rows: the drawing asked for, before training, after training."}});
}

std::string sentence(double before, double after) {
  char text[200] = {};
  std::snprintf(text, sizeof text,
                "Distance to the drawing (0 is equal, about 1.1 another subject): before %.3f, after %.3f.", before,
                after);
  return text;
}

}  // namespace

void run_demo(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop) {
  const schema::Values train_values = base_values(values);
  const std::filesystem::path folder = values.text("output_dir");
  const uint64_t seed = static_cast<uint64_t>(values.maybe_integer("seed").value_or(1));
  const std::filesystem::path lora_path = folder / "zibo.safetensors";
  const std::filesystem::path picture_path = folder / "before_after.png";

  events.log("The embedded model knows 32 subjects. \"zibo\", a made-up character, is none of them.");
  Pictures before;
  {
    LoadedModel loaded = load_run_model(train_values, events);
    events.phase("Pictures before training");
    before = make_pictures(loaded, seed, stop);
  }
  run(train_values, events, stop);
  Pictures after;
  {
    LoadedModel loaded = load_run_model(train_values, events);
    const sample::LoadedLora lora = sample::load_lora(*loaded.model, {lora_path, 1.0}, events);
    events.phase("Pictures with " + lora_path.filename().string());
    after = make_pictures(loaded, seed, stop);
  }
  save_grid(picture_path, before, after);
  events.saved(picture_path, "picture", 0);
  events.log("Its rows from above: the drawings, the model before training, the same prompts with zibo.safetensors.");
  const double mean_before = mean_of(before.distances);
  const double mean_after = mean_of(after.distances);
  const bool is_learned =
      mean_before > kFarBefore && *std::max_element(after.distances.begin(), after.distances.end()) < kNearAfter;
  if (!is_learned) {
    throw base::Error(base::ErrorCode::Internal, "the demo did not learn its character. " +
                                                     sentence(mean_before, mean_after) +
                                                     " Expected above 1.0 before and every picture below 0.8 after");
  }
  events.log(sentence(mean_before, mean_after) + " The character is there.");
  events.result({{"lora", lora_path.string()},
                 {"pictures", picture_path.string()},
                 {"distance_before", mean_before},
                 {"distance_after", mean_after}});
}

}  // namespace cinnabar::train
