#include "cinnabar/sample/lora_file.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/tensor/convert.h"
#include "sample/tiny_model.h"

namespace {

using namespace cinnabar;
using namespace cinnabar::sample;

}  // namespace

TEST_CASE("what_follows_the_last_colon_is_the_weight_if_it_is_a_number") {
  CHECK(parse_lora_word("a/dog.safetensors").weight == 1.0);
  CHECK(parse_lora_word("a/dog.safetensors:0.8").path == "a/dog.safetensors");
  CHECK(parse_lora_word("a/dog.safetensors:0.8").weight == 0.8);
  CHECK(parse_lora_word("a/dog.safetensors:-1").weight == -1.0);
  CHECK(parse_lora_word("a:b/dog.safetensors").path == "a:b/dog.safetensors");
  CHECK(parse_lora_word("dog:nan").path == "dog:nan");
}

TEST_CASE("a_file_whose_name_ends_like_a_weight_is_the_file") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "dog:2";
  base::write_file(path, "x");
  CHECK(parse_lora_word(path.string()).path == path);
  CHECK(parse_lora_word(path.string()).weight == 1.0);
  CHECK(parse_lora_word(path.string() + ":3").weight == 3.0);
}

TEST_CASE("a_saved_lora_acts_again_with_its_hash_and_foreign_keys_are_a_warning") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "dog.safetensors";
  adapters::AdapterSet set("networks.lora", tiny_model().adapter_targets(), {.network_dim = 1});
  auto values = set.file_tensors();
  set.detach();
  values.emplace_back("lora_unet_of_another_model.lora_up.weight", at::zeros({2, 2}));
  std::vector<formats::NamedTensor> tensors;
  for (const auto& [name, value] : values) tensors.push_back({name, tensor::view_of(value)});
  formats::write_safetensors(path, tensors, {{"sshs_model_hash", "0123456789abcdef"}});

  base::RecordedEvents events;
  LoadedLora lora = load_lora(tiny_model(), {.path = path, .weight = 0.5}, events);
  size_t plain = 0;  // without conv_dim, the children of resnets and samplers get no adapter
  for (const models::AdapterTarget& target : tiny_model().adapter_targets()) plain += target.is_extended ? 0 : 1;
  CHECK(lora.adapters->size() == plain);
  CHECK(lora.use.name == "dog");
  CHECK(lora.use.hash == "0123456789ab");
  REQUIRE(events.lines().size() == 1);
  CHECK(events.lines()[0].find("lora_unet_of_another_model.lora_up.weight") != std::string::npos);
  lora.adapters->detach();
}
