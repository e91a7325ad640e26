#include "cinnabar/sample/generator.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/base/error.h"
#include "cinnabar/noise/diffusion_table.h"
#include "sample/tiny_model.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::sample;

double difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

Generated picture(const SampleRequest& request, GeneratorOptions options = {}) {
  return Generator(tiny_model(), std::move(options)).one(request);
}

// The sampler's steps with one unbatched call for each prompt.
at::Tensor by_hand(const SampleRequest& request) {
  const at::NoGradGuard no_grad;
  models::DiffusionModel& model = tiny_model();
  const auto states = [&](const std::string& text) { return model.encode_text(model.tokenize({text}, {}), {}); };
  const models::Conditioning positive = states(request.prompt);
  const models::Conditioning negative = states(request.negative_prompt);
  const auto sampler = samplers::make_sampler(
      request.sampler, {.steps = request.steps, .alphas_cumprod = noise::DiffusionTable().alphas_cumprod()});
  const samplers::Model predict = [&](const at::Tensor& x, double timestep) {
    const at::Tensor t = at::full({1}, timestep, at::kFloat);
    const at::Tensor with = model.predict(x, t, positive);
    if (request.scale == 1.0) return with;
    const at::Tensor without = model.predict(x, t, negative);
    return without + request.scale * (with - without);
  };
  const at::Tensor start = samplers::initial_noise({request.seed}, {4, 16, 16}) * sampler->initial_scale();
  return samplers::run_sampler(*sampler, start, predict, samplers::seeded_noise({request.seed})).squeeze(0);
}

// Knows the clean latents (all 0.5) and predicts exactly what its objective asks for.
class PerfectModel : public models::DiffusionModel {
 public:
  // `is_zero_terminal`: of the table that it was trained with, which its file may say or not.
  explicit PerfectModel(models::Objective objective, bool is_zero_terminal = false, bool says_so = false)
      : table_({.zero_terminal_snr = is_zero_terminal}) {
    info_.objective = objective;
    info_.downscale = 8;
    info_.zero_terminal_snr = says_so;
  }
  const models::ModelInfo& info() const override { return info_; }
  models::Tokens tokenize(const std::vector<std::string>& captions, const models::TextOptions&) const override {
    return {.ids = {at::zeros({static_cast<int64_t>(captions.size()), 1, 77}, at::kLong)}};
  }
  models::Conditioning encode_text(const models::Tokens& tokens, const models::TextOptions&) override {
    return {.context = at::zeros({tokens.ids[0].size(0), 77, 8})};
  }
  at::Tensor encode_moments(const at::Tensor& pixels) override { return pixels; }
  at::Tensor decode(const at::Tensor& latents) override { return latents.slice(1, 0, 3); }
  at::Tensor predict(const at::Tensor& noisy, const at::Tensor& timesteps, const models::Conditioning&) override {
    const double share = table_.alphas_cumprod()[timesteps[0].item<int64_t>()].item<double>();
    const double signal = std::sqrt(share);
    const double spread = std::sqrt(1.0 - share);
    const at::Tensor noise = (noisy - signal * 0.5) / spread;
    return info_.objective == models::Objective::Velocity ? signal * noise - spread * 0.5 : noise;
  }
  std::vector<models::ModelPart> parts() override { return {{.name = "unet", .module = &part_}}; }
  std::vector<models::AdapterTarget> adapter_targets() override { return {}; }
  void release(const std::string&) override {}
  nn::Module& vae() override { return part_; }
  std::optional<models::ModelPart> vae_part() override { return std::nullopt; }

 private:
  models::ModelInfo info_;
  noise::DiffusionTable table_;
  nn::Module part_;
};

}  // namespace

TEST_CASE("the_same_seed_gives_the_same_picture_and_another_one_another") {
  const Generated first = picture(small_request());
  const Generated again = picture(small_request());
  CHECK(first.picture.width == 64);
  CHECK(first.picture.pixels == again.picture.pixels);
  CHECK(at::equal(first.latents, again.latents));
  SampleRequest other = small_request();
  other.seed = 8;
  CHECK(difference(first.latents, picture(other).latents) > 0.1);
}

TEST_CASE("a_batch_gives_what_single_pictures_give") {
  std::vector<SampleRequest> requests(3, small_request());
  requests[1].seed = 9;
  requests[1].prompt = "a blue boat";
  requests[1].negative_prompt = "fog";
  requests[2].scale = 3.0;
  requests[2].sampler = "euler";
  std::vector<Generated> made(3);
  int64_t calls = 0;
  GeneratorOptions options{.batch_size = 3};
  options.on_call = [&](int64_t done, int64_t total) {
    ++calls;
    CHECK(done == calls * 3);
    CHECK(total == 6);
  };
  Generator(tiny_model(), options).run(requests, [&](size_t index, Generated&& one) { made[index] = std::move(one); });
  CHECK(calls == 2);  // one batch
  // Sums run in another order in larger batches; guidance and random weights carry rounding of 1e-6 to some 1e-4 of
  // latents that are about 1. Another seed or prompt differs by more than 0.1.
  for (size_t i = 0; i < 3; ++i) CHECK(difference(made[i].latents, picture(requests[i]).latents) < 1e-3);
}

TEST_CASE("requests_of_different_shape_are_not_put_into_one_batch") {
  std::vector<SampleRequest> requests(2, small_request());
  requests[1].width_px = 96;
  std::vector<int64_t> widths;
  Generator(tiny_model(), {.batch_size = 2}).run(requests, [&](size_t, Generated&& one) {
    widths.push_back(one.picture.width);
  });
  CHECK(widths == std::vector<int64_t>{64, 96});
}

TEST_CASE("guidance_goes_from_the_negative_prompt_towards_the_prompt") {
  SampleRequest request = small_request();
  request.negative_prompt = "fog";
  request.scale = 4.0;
  const at::Tensor expected = by_hand(request);
  CHECK(difference(picture(request).latents, expected) < 1e-4 * expected.abs().max().item<double>());
}

TEST_CASE("guidance_one_is_the_prompt_alone") {
  SampleRequest request = small_request();
  request.negative_prompt = "fog";
  request.scale = 1.0;
  CHECK(difference(picture(request).latents, by_hand(request)) < 1e-5);
}

TEST_CASE("weights_change_the_picture_and_weight_one_does_not") {
  SampleRequest request = small_request();
  const at::Tensor plain = picture(request).latents;
  request.prompt = "a (red:1.0) fox";
  CHECK(at::equal(picture(request).latents, plain));
  request.prompt = "a (red:1.8) fox";
  CHECK(difference(picture(request).latents, plain) > 1e-4);
}

TEST_CASE("long_prompts_count_to_their_end") {
  SampleRequest request = small_request();
  request.prompt.clear();
  for (int i = 0; i < 100; ++i) request.prompt += "fox ";
  const at::Tensor cats = picture([&] {
                            SampleRequest other = request;
                            other.prompt += "cat";
                            return other;
                          }())
                              .latents;
  CHECK(difference(picture(request).latents, cats) > 1e-6);
}

TEST_CASE("a_lora_at_weight_zero_changes_nothing_and_at_one_something") {
  const at::Tensor plain = picture(small_request()).latents;
  adapters::AdapterSet set("networks.lora", tiny_model().adapter_targets(), {.network_dim = 2});
  {
    const at::NoGradGuard no_grad;
    for (const adapters::NamedParameter& parameter : set.parameters()) parameter.value->fill_(0.05);
  }
  CHECK(difference(picture(small_request()).latents, plain) > 1e-3);
  set.set_multiplier(0.0);
  CHECK(at::equal(picture(small_request()).latents, plain));
  set.detach();
}

TEST_CASE("sizes_are_rounded_down_to_what_the_model_can_do") {
  const Generator generator(tiny_model(), {});
  const SampleRequest request = generator.completed({.width_px = 103, .height_px = 20});
  CHECK(request.width_px == 96);
  CHECK(request.height_px == 64);
  CHECK(generator.completed({}).width_px == tiny_model().info().native_side_px);
}

TEST_CASE("epsilon_and_velocity_models_arrive_at_the_clean_latents") {
  for (const models::Objective objective : {models::Objective::Epsilon, models::Objective::Velocity}) {
    PerfectModel model(objective);
    const Generated made = Generator(model, {}).one({.prompt = "x", .width_px = 64, .height_px = 64, .steps = 5});
    CHECK(difference(made.latents, at::full({4, 8, 8}, 0.5)) < 1e-4);
  }
}

TEST_CASE("the_noise_table_is_the_file's_or_the_chosen_one") {
  const auto miss = [](const std::string& table, bool is_zero_terminal, bool says_so) {
    PerfectModel model(models::Objective::Velocity, is_zero_terminal, says_so);
    GeneratorOptions options;
    options.sampler.noise_table = table;
    options.sampler.timestep_spacing = "trailing";  // from the noisiest timestep, where the tables differ most
    const SampleRequest request{.prompt = "x", .width_px = 64, .height_px = 64, .steps = 5, .scale = 1.0};
    return difference(Generator(model, options).one(request).latents, at::full({4, 8, 8}, 0.5));
  };
  CHECK(miss("auto", false, false) < 1e-4);
  CHECK(miss("auto", true, true) < 1e-4);
  CHECK(miss("auto", true, false) > 1e-3);  // a file that does not say it is sampled as sd-scripts samples it
  CHECK(miss("zero_terminal", true, false) < 1e-4);
  CHECK(miss("plain", false, true) < 1e-4);
  CHECK(miss("plain", true, true) > 1e-3);
  PerfectModel plain(models::Objective::Epsilon);
  GeneratorOptions options;
  options.sampler.noise_table = "zero_terminal";
  CHECK_THROWS_WITH_AS(Generator(plain, options), doctest::Contains("only models that predict v"), base::Error);
}

TEST_CASE("broken_weights_are_an_error_that_says_so") {
  const auto model = new_tiny_model();
  model->parts().back().module->each_parameter("", [](const std::string& name, at::Tensor& value) {
    if (name == "out.2.bias") value.fill_(std::numeric_limits<float>::quiet_NaN());
  });
  CHECK_THROWS_WITH_AS(Generator(*model, {}).one(small_request()), doctest::Contains("NaN"), base::Error);
}

TEST_CASE("dropouts_are_off_for_pictures_and_put_back_afterwards") {
  nn::Module& unet = *tiny_model().parts().back().module;
  unet.train(true);
  GeneratorOptions options;
  bool was_training = true;
  options.on_call = [&](int64_t, int64_t) { was_training = unet.is_training(); };
  picture(small_request(), options);
  CHECK_FALSE(was_training);
  CHECK(unet.is_training());
  unet.train(false);
}

TEST_CASE("a_stop_ends_between_calls") {
  std::atomic<bool> stop{false};
  GeneratorOptions options{.stop = &stop};
  int calls = 0;
  options.on_call = [&](int64_t, int64_t) {
    ++calls;
    stop = true;
  };
  try {
    picture(small_request(), options);
    FAIL("no error");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ErrorCode::Cancelled);
  }
  CHECK(calls == 1);
}

TEST_CASE("pixels_become_bytes_by_rounding_and_cutting_off") {
  at::Tensor pixels = at::zeros({3, 1, 2});
  pixels[0][0][0] = -1.5;
  pixels[1][0][0] = 1.0;
  pixels[2][0][1] = 0.5;
  const data::Picture picture = picture_of(pixels);
  CHECK(picture.width == 2);
  CHECK(picture.height == 1);
  CHECK(picture.pixels == std::vector<uint8_t>{0, 255, 128, 128, 128, 191});
}

TEST_CASE("pictures_with_other_weights_of_loras_are_computed_apart_and_each_with_its_own") {
  std::vector<SampleRequest> requests(3, small_request());
  requests[2].lora_weights = {{0, 0.5}};
  std::vector<std::map<size_t, double>> seen;
  const GeneratorOptions options{.batch_size = 4, .set_loras = [&](const auto& weights) { seen.push_back(weights); }};
  Generator(tiny_model(), options).run(requests, [](size_t, Generated&&) {});
  CHECK(seen == std::vector<std::map<size_t, double>>{{}, {{0, 0.5}}});
}
