#include "cinnabar/sample/generator.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/noise/diffusion_table.h"

namespace cinnabar::sample {

namespace {

// Dropouts off while it lives. Parts are switched as wholes, as training does it.
class EvaluationMode {
 public:
  explicit EvaluationMode(models::DiffusionModel& model) {
    for (const models::ModelPart& part : model.parts()) add(*part.module);
    add(model.vae());
  }
  ~EvaluationMode() {
    for (const auto& [module, was_training] : before_) module->train(was_training);
  }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  void add(nn::Module& module) {
    before_.emplace_back(&module, module.is_training());
    module.train(false);
  }
  std::vector<std::pair<nn::Module*, bool>> before_;
};

bool is_finite(const at::Tensor& values) { return at::isfinite(values).all().item<bool>(); }

[[noreturn]] void fail_not_finite(const std::string& what, const std::string& prompt, const std::string& advice) {
  throw base::Error(base::ErrorCode::Data,
                    "the " + what + " of the prompt \"" + prompt +
                        "\" are not numbers any more (NaN or infinite), so there is no picture; " + advice);
}

}  // namespace

// A request with its place, and its text when it is time to encode it.
struct Generator::Item {
  size_t index = 0;
  SampleRequest request;
  models::Tokens tokens;  // ids [2, chunks, 77]: negative prompt, prompt; without guidance the prompt alone

  bool has_guidance() const { return request.scale != 1.0; }
  // What a batch has in common.
  auto key() const {
    const SampleRequest& r = request;
    return std::tuple(r.width_px, r.height_px, r.steps, r.sampler, has_guidance(), tokens.ids.front().size(1),
                      r.lora_weights);
  }
};

Generator::Generator(models::DiffusionModel& model, GeneratorOptions options)
    : model_(model), options_(std::move(options)) {
  const models::ModelInfo& info = model.info();
  if (info.objective == models::Objective::Flow) {
    throw base::Error(base::ErrorCode::Config,
                      "pictures of flow-matching models (family " + info.family + ") are not supported yet");
  }
  const std::string& table = options_.sampler.noise_table;
  // Only velocity models can start at pure noise: there the noise says nothing of the picture.
  const bool is_velocity = info.objective == models::Objective::Velocity;
  if (table == "zero_terminal" && !is_velocity) {
    throw base::Error(
        base::ErrorCode::Config,
        "sample_noise_table = zero_terminal: only models that predict v can start at pure noise, and this "
        "one predicts the noise; leave it out");
  }
  const bool is_zero_terminal = table == "zero_terminal" || (table != "plain" && info.zero_terminal_snr && is_velocity);
  alphas_cumprod_ = noise::DiffusionTable({.zero_terminal_snr = is_zero_terminal}).alphas_cumprod().to(at::kCPU);
}

SampleRequest Generator::completed(SampleRequest request) const {
  const int64_t step = std::max(kSideStep, model_.info().downscale);
  for (int64_t* side : {&request.width_px, &request.height_px}) {
    if (*side == 0) *side = model_.info().native_side_px;
    *side = std::max(kSmallestSide, *side / step * step);
  }
  return request;
}

at::Device Generator::device() const {
  at::Device device = at::kCPU;
  bool is_found = false;
  model_.parts().back().module->each_parameter("", [&](const std::string&, at::Tensor& value) {
    if (!is_found) device = value.device();
    is_found = true;
  });
  return device;
}

samplers::SamplerOptions Generator::sampler_options(int64_t steps) const {
  samplers::SamplerOptions options = options_.sampler;
  options.steps = steps;
  options.alphas_cumprod = alphas_cumprod_;
  options.prediction = model_.info().objective == models::Objective::Velocity ? samplers::Prediction::Velocity
                                                                              : samplers::Prediction::Epsilon;
  return options;
}

void Generator::run(const std::vector<SampleRequest>& requests, const std::function<void(size_t, Generated&&)>& take) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(model_);
  done_ = 0;
  total_ = 0;
  std::map<std::pair<std::string, int64_t>, int64_t> calls;  // of a sampler with so many steps
  for (const SampleRequest& request : requests) {
    const auto [entry, is_new] = calls.try_emplace({request.sampler, request.steps});
    if (is_new) {
      const auto sampler = samplers::make_sampler(request.sampler, sampler_options(request.steps));
      entry->second = static_cast<int64_t>(sampler->timesteps().size());
    }
    total_ += entry->second;
  }

  std::vector<Item> batch;
  for (size_t i = 0; i < requests.size(); ++i) {
    Item item{.index = i, .request = completed(requests[i]), .tokens = {}};
    std::vector<std::string> texts{item.request.prompt};
    if (item.has_guidance()) texts.insert(texts.begin(), item.request.negative_prompt);
    item.tokens = model_.tokenize_prompts(texts, options_.text);
    const bool is_full = static_cast<int64_t>(batch.size()) >= options_.batch_size;
    if (!batch.empty() && (is_full || batch.front().key() != item.key())) {
      run_batch(batch, take);
      batch.clear();
    }
    batch.push_back(std::move(item));
  }
  if (!batch.empty()) run_batch(batch, take);
}

Generated Generator::one(const SampleRequest& request) {
  Generated result;
  run({request}, [&](size_t, Generated&& made) { result = std::move(made); });
  return result;
}

void Generator::run_batch(const std::vector<Item>& items, const std::function<void(size_t, Generated&&)>& take) {
  const models::ModelInfo& info = model_.info();
  if (options_.set_loras) options_.set_loras(items.front().request.lora_weights);
  const at::Tensor latents = sample(items);  // [B, C, h, w]
  for (size_t i = 0; i < items.size(); ++i) {
    const SampleRequest& request = items[i].request;
    const at::Tensor scaled = latents.slice(0, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1);
    if (!is_finite(scaled)) {
      fail_not_finite("latents", request.prompt,
                      "training may have diverged (lower the learning rate, or go back to an earlier save), or the "
                      "number format is too narrow for this model (try mixed_precision bf16 or no)");
    }
    // One picture at a time: decoding takes more memory than all else.
    const at::Tensor pixels = model_.decode(scaled / info.latent_scale + info.latent_shift);  // [1, 3, H, W]
    if (!is_finite(pixels)) {
      fail_not_finite("pixels", request.prompt,
                      "the latents are sound, so the autoencoder's number format is too narrow: give no_half_vae");
    }
    take(items[i].index,
         {.request = request, .picture = picture_of(pixels.squeeze(0)), .latents = scaled.squeeze(0).to(at::kCPU)});
  }
}

models::Conditioning Generator::text_states(const std::vector<Item>& items) const {
  // Negative prompts first, then prompts: [2B, T, D], or [B, T, D] without guidance.
  const bool has_guidance = items.front().has_guidance();
  models::Conditioning joined;
  std::vector<models::Conditioning> each;
  for (const Item& item : items) each.push_back(model_.encode_text(item.tokens, options_.text));
  for (at::Tensor models::Conditioning::* member : {&models::Conditioning::context, &models::Conditioning::pooled,
                                                    &models::Conditioning::mask, &models::Conditioning::vector}) {
    if (!(each.front().*member).defined()) continue;
    std::vector<at::Tensor> rows;
    for (int64_t half = 0; half < (has_guidance ? 2 : 1); ++half) {
      for (const models::Conditioning& states : each) rows.push_back((states.*member).slice(0, half, half + 1));
    }
    joined.*member = at::cat(rows, 0);
  }
  // Of families with size conditioning: a picture of its own size, not cut.
  const auto height = static_cast<float>(items.front().request.height_px);
  const auto width = static_cast<float>(items.front().request.width_px);
  joined.sizes = at::tensor({height, width, 0.0F, 0.0F, height, width}).repeat({joined.context.size(0), 1});
  return joined;
}

at::Tensor Generator::sample(const std::vector<Item>& items) {
  const models::ModelInfo& info = model_.info();
  const SampleRequest& common = items.front().request;
  const auto count = static_cast<int64_t>(items.size());
  std::vector<uint64_t> seeds;
  std::vector<double> scales;
  for (const Item& item : items) {
    seeds.push_back(item.request.seed);
    scales.push_back(item.request.scale);
  }
  const at::Device place = device();
  const at::Tensor scale = at::tensor(scales, at::kDouble).to(at::kFloat).view({count, 1, 1, 1}).to(place);
  const models::Conditioning states = text_states(items);
  const bool has_guidance = items.front().has_guidance();

  const samplers::Model model = [&](const at::Tensor& x, double timestep) {
    if (options_.stop != nullptr && *options_.stop) {
      throw base::Error(base::ErrorCode::Cancelled, "stopped before the picture was finished");
    }
    const at::Tensor inputs = has_guidance ? at::cat({x, x}, 0) : x;
    const at::Tensor timesteps = at::full({inputs.size(0)}, timestep, inputs.options());
    const at::Tensor prediction = model_.predict(inputs, timesteps, states);
    if (!has_guidance) return prediction;
    const at::Tensor negative = prediction.slice(0, 0, count);
    // Ho and Salimans 2022, "Classifier-free diffusion guidance".
    return negative + scale * (prediction.slice(0, count) - negative);
  };
  const auto report = [&](int64_t, const at::Tensor&) {
    done_ += count;
    if (options_.on_call) options_.on_call(done_, total_);
  };

  const auto sampler = samplers::make_sampler(common.sampler, sampler_options(common.steps));
  const std::vector<int64_t> shape{info.latent_channels, common.height_px / info.downscale,
                                   common.width_px / info.downscale};
  const at::Tensor start = samplers::initial_noise(seeds, shape).to(place) * sampler->initial_scale();
  return samplers::run_sampler(*sampler, start, model, samplers::seeded_noise(seeds), report);
}

data::Picture picture_of(const at::Tensor& pixels) {
  CINNABAR_ASSERT(pixels.dim() == 3 && pixels.size(0) == 3);
  const at::Tensor bytes = ((pixels.to(at::kCPU, at::kFloat) + 1.0) * 127.5)
                               .round()
                               .clamp(0.0, 255.0)
                               .to(at::kByte)
                               .permute({1, 2, 0})
                               .contiguous();  // [H, W, 3]
  data::Picture picture = data::blank_picture({bytes.size(1), bytes.size(0)}, 3);
  std::copy_n(bytes.const_data_ptr<uint8_t>(), picture.pixels.size(), picture.pixels.begin());
  return picture;
}

}  // namespace cinnabar::sample
