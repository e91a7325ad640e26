#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cinnabar/base/error.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/block_names.h"
#include "cinnabar/models/sd/file_names.h"
#include "models/same_weights.h"
#include "models/small_families.h"
#include "models/small_model.h"

namespace cinnabar::models {

namespace {

const std::string kProjection = sdxl::kText2Prefix + "text_projection";

std::unique_ptr<DiffusionModel> load_sdxl(const formats::Checkpoint& checkpoint, const LoadOptions& options = {}) {
  return model_families().at("sdxl").load(checkpoint, options);
}

Tokens tokens(int64_t chunks = 1) {
  at::Tensor ids = at::arange(2 * chunks * 9, at::kLong).view({2, chunks, 9}) % 48;
  ids.index_put_({at::tensor({0, 1}), at::tensor({0, 0}), at::tensor({4, 6})}, at::scalar_tensor(49, at::kLong));
  return {.ids = {ids, ids}};
}

at::Tensor pooled(DiffusionModel& model) {
  const at::NoGradGuard no_gradients;
  return model.encode_text(tokens(), {}).pooled;
}

}  // namespace

TEST_CASE("SDXL: a file is recognised and loads as it was") {
  const auto source = small_sdxl();
  const auto checkpoint = sd::checkpoint_of(*source);
  CHECK(checkpoint->find(sdxl::kText2Prefix + "transformer.resblocks.0.attn.in_proj_weight") != nullptr);
  CHECK(model_families().at("sdxl").recognises(*checkpoint));
  CHECK_FALSE(model_families().at("sd1").recognises(*checkpoint));
  CHECK_FALSE(model_families().at("sd2").recognises(*checkpoint));
  const auto model = load_sdxl(*checkpoint);
  check_same_weights(*source, *model);
  CHECK(model->info().latent_scale == 0.13025);
  CHECK(model->info().native_side_px == 1024);
  CHECK(model->info().base_model_version == "sdxl_base_v1-0");
  CHECK(model->info().bucket_step_px == 32);
  CHECK(at::equal(pooled(*source), pooled(*model)));
}

TEST_CASE("SDXL: the projection is open_clip's unless sd-scripts' use of it is asked for") {
  const auto checkpoint = sd::checkpoint_of(*small_sdxl());
  const auto plain = load_sdxl(*checkpoint);
  const auto turned = load_sdxl(*checkpoint, {.has_sdscripts_projection = true});
  CHECK_FALSE(at::allclose(pooled(*plain), pooled(*turned)));
  // A linear layer's weight is the transpose, and means the same with and without the switch.
  for (const auto& [name, value] : state_tensors(*plain)) {
    if (name == kProjection) checkpoint->set(kProjection + ".weight", value.t());
  }
  checkpoint->erase(kProjection);
  CHECK(at::allclose(pooled(*plain), pooled(*load_sdxl(*checkpoint))));
  CHECK(at::allclose(pooled(*plain), pooled(*load_sdxl(*checkpoint, {.has_sdscripts_projection = true}))));
  checkpoint->erase(kProjection + ".weight");
  CHECK_THROWS_WITH_AS(load_sdxl(*checkpoint), doctest::Contains("no tensor text_projection"), base::Error);
}

TEST_CASE("SDXL: a diffusers folder loads as its single file does") {
  const auto source = small_sdxl();
  static const sd::BlockNames unet = sd::BlockNames::of_unet({.res_blocks = {1, 1}, .has_attention = {false, true}});
  static const sd::BlockNames vae = sd::BlockNames::of_vae(2, 2);
  sd::MemoryCheckpoint folder;
  for (const auto& [name, value] : state_tensors(*source)) {
    if (name.starts_with(sd::kUNetPrefix)) {
      folder.set("unet." + unet.to_diffusers(name.substr(sd::kUNetPrefix.size())).value_or(""), value);
    } else if (name.starts_with(sd::kVaePrefix)) {
      folder.set("vae." + vae.to_diffusers(name.substr(sd::kVaePrefix.size())).value_or(""), value);
    } else if (name == kProjection) {
      folder.set("text_encoder_2.text_projection.weight", value.t());
    } else if (name.starts_with(sdxl::kText2Prefix)) {
      folder.set("text_encoder_2." + name.substr(sdxl::kText2Prefix.size()), value);
    } else {
      folder.set("text_encoder." + name.substr(sdxl::kText1Prefix.size()), value);
    }
  }
  CHECK(folder.find("unet.add_embedding.linear_1.weight") != nullptr);
  CHECK(model_families().at("sdxl").recognises(folder));
  CHECK_FALSE(model_families().at("sd2").recognises(folder));
  check_same_weights(*source, *load_sdxl(folder));
}

TEST_CASE("SDXL: the context is both encoders' states, pooled text comes from the first chunk") {
  const auto model = small_sdxl();
  const at::NoGradGuard no_gradients;
  const Tokens two = tokens(2);
  const Conditioning found = model->encode_text(two, {});
  CHECK(found.context.sizes() == at::IntArrayRef({2, 16, 20}));
  CHECK(found.pooled.sizes() == at::IntArrayRef({2, 8}));
  Tokens first = two;
  for (at::Tensor& ids : first.ids) ids = ids.slice(1, 0, 1);
  CHECK(at::allclose(found.pooled, model->encode_text(first, {}).pooled, 1e-4, 1e-5));
  // The second of three layers, not normed.
  const at::Tensor expected = model->text_encoder1().state_after(first.ids[0].select(1, 0), 2);
  CHECK(at::allclose(model->encode_text(first, {.clip_skip = 2}).context.narrow(2, 0, 12), expected));
}

TEST_CASE("SDXL: word weights act on both encoders' states and not on the pooled text") {
  const auto model = small_sdxl();
  const at::NoGradGuard no_gradients;
  Tokens weighted = tokens();
  const Conditioning plain = model->encode_text(weighted, {});
  weighted.weights = {at::ones({2, 1, 9}), at::ones({2, 1, 9})};
  weighted.weights[0].select(2, 3).fill_(2.0);
  weighted.weights[1].select(2, 3).fill_(0.5);
  const Conditioning found = model->encode_text(weighted, {});
  CHECK(at::allclose(found.context.select(1, 3).narrow(1, 0, 12), plain.context.select(1, 3).narrow(1, 0, 12) * 2.0));
  CHECK(at::allclose(found.context.select(1, 3).narrow(1, 12, 8), plain.context.select(1, 3).narrow(1, 12, 8) * 0.5));
  CHECK(at::allclose(found.context.select(1, 2), plain.context.select(1, 2)));
  CHECK(at::equal(found.pooled, plain.pooled));
  weighted.keeps_mean = true;
  const at::Tensor kept = model->encode_text(weighted, {}).context.narrow(2, 0, 12);
  CHECK(at::allclose(kept.mean({1, 2}), plain.context.narrow(2, 0, 12).mean({1, 2}), 1e-4, 1e-6));
}

TEST_CASE("SDXL: sizes and crops reach the prediction in their order") {
  const auto model = small_sdxl();
  const at::NoGradGuard no_gradients;
  Conditioning conditioning = model->encode_text(tokens(), {});
  const at::Tensor noisy = at::ones({2, 4, 6, 5});
  const at::Tensor timesteps = at::tensor({3, 700}, at::kLong);
  conditioning.sizes = at::tensor({64.0, 48.0, 0.0, 8.0, 40.0, 32.0}, at::kFloat).repeat({2, 1});
  const at::Tensor first = model->predict(noisy, timesteps, conditioning);
  Conditioning vector = conditioning;
  vector.vector = at::cat({conditioning.pooled, model->size_embedding(conditioning.sizes)}, 1);
  CHECK(at::equal(first, model->predict(noisy, timesteps, vector)));
  // Of each number first the cosines, then the sines.
  CHECK(model->size_embedding(conditioning.sizes)[0][3 * 4].item<float>() == doctest::Approx(std::cos(8.0F)));
  conditioning.sizes[0][3] = 0.0;
  const at::Tensor second = model->predict(noisy, timesteps, conditioning);
  CHECK_FALSE(at::allclose(first[0], second[0]));
  CHECK(at::allclose(first[1], second[1]));
}

TEST_CASE("SDXL: adapters have single-file names, diffusers' ones are known, an unused layer is not trained") {
  const auto model = small_sdxl();
  const auto targets = model->adapter_targets();
  const auto named = [&](const std::string& name) {
    const auto found = std::ranges::find(targets, name, &AdapterTarget::name);
    REQUIRE_MESSAGE(found != targets.end(), name);
    return *found;
  };
  const AdapterTarget query = named("lora_unet_input_blocks_3_1_transformer_blocks_1_attn2_to_q");
  CHECK_FALSE(query.is_extended);
  CHECK(query.diffusers_name == "lora_unet_down_blocks_1_attentions_0_transformer_blocks_1_attn2_to_q");
  CHECK(named("lora_unet_input_blocks_2_0_op").is_extended);
  CHECK(named("lora_unet_output_blocks_1_2_conv").is_extended);
  CHECK(named("lora_unet_middle_block_0_emb_layers_1").is_extended);
  CHECK(named("lora_te2_text_model_encoder_layers_1_mlp_fc1").part == "text_encoder_2");
  CHECK(std::ranges::find(targets, "lora_unet_label_emb_0_0", &AdapterTarget::name) == targets.end());
  CHECK(model->uses(named("lora_te1_text_model_encoder_layers_1_mlp_fc1"), {}));
  CHECK_FALSE(model->uses(named("lora_te1_text_model_encoder_layers_2_mlp_fc1"), {}));
  CHECK(model->uses(named("lora_te2_text_model_encoder_layers_1_mlp_fc1"), {}));
}

TEST_CASE("SDXL: models with other noise levels are refused") {
  const auto checkpoint = sd::checkpoint_of(*small_sdxl());
  checkpoint->set("edm_mean", at::zeros({1}));
  CHECK_THROWS_WITH_AS(load_sdxl(*checkpoint), doctest::Contains("EDM noise levels"), base::Error);
}

}  // namespace cinnabar::models
