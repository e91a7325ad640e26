#include "cinnabar/formats/adapter_family.h"

#include <doctest/doctest.h>

namespace cinnabar::formats {

namespace {

struct AdapterFile : Checkpoint {
  AdapterFile() { path_ = "cc.safetensors"; }
  AdapterFile(const char* key, const char* value) : AdapterFile() { metadata_[key] = value; }
  AdapterFile& with(const std::string& name, std::vector<int64_t> shape) {
    tensors_[name].shape = std::move(shape);
    return *this;
  }
};

const char* const kKey = "lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn2_to_k.lora_down.weight";

TEST_CASE("metadata_tell_the_family_of_an_adapter") {
  CHECK(adapter_family(AdapterFile("ss_base_model_version", "sd_v1")) == "sd1");
  CHECK(adapter_family(AdapterFile("ss_base_model_version", "sd_v2_768_v")) == "sd2");
  CHECK(adapter_family(AdapterFile("ss_base_model_version", "sdxl_base_v1-0")) == "sdxl");
  CHECK(adapter_family(AdapterFile("modelspec.architecture", "stable-diffusion-xl-v1-base/lora")) == "sdxl");
  CHECK(adapter_family(AdapterFile("modelspec.architecture", "flux-1-dev/lora")) == "flux-1-dev");
  CHECK(adapter_family(AdapterFile("ss_base_model_version", "flux1")) == "flux1");
}

TEST_CASE("shapes_tell_the_family_where_metadata_do_not") {
  CHECK(adapter_family(AdapterFile().with(kKey, {8, 768})) == "sd1");
  CHECK(adapter_family(AdapterFile().with(kKey, {8, 1024})) == "sd2");
  CHECK(adapter_family(AdapterFile().with(kKey, {8, 2048})) == "sdxl");
  CHECK(adapter_family(AdapterFile().with("lora_te2_text_projection.alpha", {})) == "sdxl");
  CHECK(adapter_family(AdapterFile().with(kKey, {8, 64})).empty());
}

TEST_CASE("a_file_that_fails_on_another_family_says_so_and_keeps_other_reasons") {
  const AdapterFile file("ss_base_model_version", "sd_v1");
  const auto fail = [](base::ErrorCode code) {
    return [code]() -> int { throw base::Error(code, "shape [8, 64], the layer expects [8, 96]"); };
  };
  CHECK(naming_family(file, "sdxl", [] { return 3; }) == 3);
  CHECK_THROWS_WITH_AS(naming_family(file, "sdxl", fail(base::ErrorCode::Format)),
                       doctest::Contains("made for SD 1, and this model is of the family SDXL"), base::Error);
  CHECK_THROWS_WITH_AS(naming_family(file, "sd1", fail(base::ErrorCode::Format)), doctest::Contains("[8, 96]"),
                       base::Error);
  CHECK_THROWS_WITH_AS(naming_family(file, "sdxl", fail(base::ErrorCode::Io)), doctest::Contains("[8, 96]"),
                       base::Error);
}

}  // namespace

}  // namespace cinnabar::formats
