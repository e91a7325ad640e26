#include "cinnabar/models/other_files.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "models/small_model.h"

namespace cinnabar::models {

namespace {

std::string described(const std::vector<std::string>& names) {
  sd::MemoryCheckpoint checkpoint;
  for (const std::string& name : names) checkpoint.set(name, at::zeros({1}));
  return describe_other_file(checkpoint);
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("files that are no base model are called by their name") {
  CHECK(says(described({"encoder.down.0.block.0.conv1.weight", "decoder.conv_in.weight"}), "a VAE, not a base model"));
  CHECK(says(described({"first_stage_model.decoder.up.0.upsample.conv.weight"}), "a VAE"));
  CHECK(says(described({"lora_unet_mid_block_attentions_0_proj_in.lora_down.weight"}), "a LoRA or another adapter"));
  CHECK(says(described({"unet.mid_block.attentions.0.proj_in.lora_A.weight"}), "a LoRA or another adapter"));
  CHECK(says(described({"emb_params"}), "textual inversion"));
  CHECK(says(described({"clip_g", "clip_l"}), "textual inversion"));
  CHECK(says(described({"control_model.input_blocks.0.0.weight"}), "a ControlNet"));
  CHECK(
      says(described({"model.diffusion_model.out.2.bias", "conditioner.embedders.0.model.ln_final.bias"}), "refiner"));
  CHECK(says(described({"model.diffusion_model.out.2.bias"}), "no text encoder"));
  CHECK(says(described({"text_model.final_layer_norm.bias"}), "a text encoder"));
  CHECK(says(described({}), "no tensors"));
  CHECK(described({"something.else"}).empty());
}

}  // namespace cinnabar::models
