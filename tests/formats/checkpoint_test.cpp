#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cinnabar/base/error.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/formats/json_text.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "formats/archive_builder.h"
#include "formats/temporary_folder.h"

namespace cinnabar::formats {

namespace {

const std::string kBytes("\1\2\3\4", 4);

// A safetensors file with one tensor of four bytes.
std::string small_file(const std::string& name) {
  const SafetensorsImage image({{name, {Dtype::U8, {4}, std::as_bytes(std::span(kBytes))}}}, std::nullopt);
  return image.head() + kBytes;
}

std::string small_torch_file(const std::string& name) {
  using namespace piece;
  const std::string value = tensor(storage("ByteStorage", "0", 4), 0, {4}, {1});
  return make_torch_zip(pickle(dictionary({{name, value}})), {kBytes});
}

std::string message_of(const std::filesystem::path& path) {
  try {
    Checkpoint::open(path);
  } catch (const base::Error& error) {
    CHECK(error.message().find(path.filename().string()) != std::string::npos);
    return error.message();
  }
  return "";
}

std::vector<std::string> names(const Checkpoint& checkpoint) {
  std::vector<std::string> result;
  for (const auto& [name, view] : checkpoint.tensors()) result.push_back(name);
  return result;
}

}  // namespace

TEST_CASE("the content decides what a file is, and the extension must agree") {
  const TemporaryFolder folder;
  CHECK(message_of(folder.put("a.safetensors", small_file("x"))) == "");
  CHECK(message_of(folder.put("a.SFT", small_file("x"))) == "");
  CHECK(message_of(folder.put("a.ckpt", small_torch_file("x"))) == "");
  CHECK(message_of(folder.put("b.ckpt", small_file("x"))).find("rename it to .safetensors") != std::string::npos);
  CHECK(message_of(folder.put("b.safetensors", small_torch_file("x"))).find("rename it to .ckpt") != std::string::npos);
  CHECK(message_of(folder.put("b", small_file("x"))).find("the extension is \"\"") != std::string::npos);
}

TEST_CASE("files that are no models are called what they are") {
  const TemporaryFolder folder;
  const auto says = [&](const std::string& name, const std::string& content, const std::string& words) {
    const std::string message = message_of(folder.put(name, content));
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  says("a.safetensors", "", "the file is empty");
  says("a.ckpt", "", "the file is empty");
  says("a.safetensors", "\n<!DOCTYPE html><html>", "a web page");
  says("a.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00", "pointer of Git LFS");
  says("a.safetensors", std::string(4096, '\0'), "begins with zeros");
  says("a.safetensors", "{\"error\":\"not found\"}", "JSON text");
  says("a.safetensors", "GGUF\3", "GGUF");
  says("a.pt", "\x80\x02\x8a\x0al\xfc\x9c", "before version 1.6");
  says("a.ckpt", "plain words", "no model file");
  says("a.safetensors", "plain words", "header");
  says("a.safetensors", small_file("x").substr(0, 20), "cut off");
  says("a.ckpt", small_torch_file("x").substr(0, 100), "cut off");
  CHECK(message_of(folder / "absent.safetensors").find("no such file") != std::string::npos);
}

TEST_CASE("the description beside a file must be a JSON object") {
  const TemporaryFolder folder;
  const auto path = folder.put("m.safetensors", small_file("x"));
  CHECK(Checkpoint::open(path)->side_json().empty());
  folder.put("m.json", " {\"prediction_type\": \"v\"}\n");
  CHECK(nlohmann::json::parse(Checkpoint::open(path)->side_json()).at("prediction_type") == "v");
  for (const std::string& bad : {std::string("[]"), std::string("{"), std::string(), std::string("{\"a\":\"\xff\"}"),
                                 "{\"a\":" + std::string(64, '[') + std::string(64, ']') + "}"}) {
    folder.put("m.json", bad);
    CHECK_THROWS_WITH_AS(Checkpoint::open(path), doctest::Contains("m.json"), base::Error);
  }
}

TEST_CASE("nesting is counted outside strings only") {
  CHECK(is_nested_at_most("{\"[[[[\\\"[[\": [1]}", 2));
  CHECK_FALSE(is_nested_at_most("[[[]]]", 2));
  CHECK(is_nested_at_most("[][][]", 1));
}

TEST_CASE("a diffusers folder gives the tensors of its parts under their names") {
  const TemporaryFolder folder;
  folder.put("m/model_index.json", "{\"_class_name\":\"StableDiffusionPipeline\"}");
  folder.put("m/scheduler/scheduler_config.json", "{\"prediction_type\":\"epsilon\"}");
  folder.put("m/unet/config.json", "{\"cross_attention_dim\":768}");
  folder.put("m/unet/diffusion_pytorch_model.safetensors", small_file("conv_in.weight"));
  folder.put("m/unet/diffusion_pytorch_model.fp16.safetensors", small_file("not read"));
  folder.put("m/unet/diffusion_pytorch_model.bin", "not read");
  folder.put("m/vae/config.json", "{}");
  folder.put("m/vae/diffusion_pytorch_model.fp16.safetensors", small_file("encoder.weight"));
  folder.put("m/text_encoder/pytorch_model.bin", small_torch_file("text_model.weight"));
  folder.put("m/tokenizer/vocab.json", "not read");
  const auto checkpoint = Checkpoint::open(folder / "m");
  CHECK(names(*checkpoint) ==
        std::vector<std::string>{"text_encoder.text_model.weight", "unet.conv_in.weight", "vae.encoder.weight"});
  const auto side = nlohmann::json::parse(checkpoint->side_json());
  CHECK(side.at("unet").at("cross_attention_dim") == 768);
  CHECK(side.at("scheduler").at("prediction_type") == "epsilon");
  CHECK(side.contains("model_index"));
  CHECK_FALSE(side.contains("text_encoder"));
}

TEST_CASE("a sharded part is read through its index, which must name plain files and all tensors") {
  const TemporaryFolder folder;
  const std::string index = "m/unet/diffusion_pytorch_model.safetensors.index.json";
  folder.put("m/unet/one.safetensors", small_file("a"));
  folder.put("m/unet/two.safetensors", small_file("b"));
  folder.put("secret.safetensors", small_file("c"));
  folder.put(index, R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  CHECK(names(*Checkpoint::open(folder / "m")) == std::vector<std::string>{"unet.a", "unet.b"});
  for (const std::string bad : {R"({"weight_map":{"a":"../../secret.safetensors"}})", R"({"weight_map":{"a":".."}})",
                                R"({"weight_map":{"a":3}})", R"({"weight_map":[]})", R"({})",
                                R"({"weight_map":{"a":"one.safetensors","missing":"one.safetensors"}})",
                                R"({"weight_map":{"a":"absent.safetensors"}})"}) {
    folder.put(index, bad);
    CHECK_THROWS_AS(Checkpoint::open(folder / "m"), base::Error);
  }
  folder.put("m/unet/two.safetensors", small_file("a"));
  folder.put(index, R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  CHECK_THROWS_WITH_AS(Checkpoint::open(folder / "m"), doctest::Contains("another file"), base::Error);
}

TEST_CASE("a folder without a model says what was expected") {
  const TemporaryFolder folder;
  folder.put("m/readme", "");
  CHECK(message_of(folder / "m").find("expected a sub-folder unet") != std::string::npos);
  folder.put("m/unet/config.json", "{}");
  CHECK_THROWS_WITH_AS(Checkpoint::open(folder / "m"), doctest::Contains("no weights"), base::Error);
}

}  // namespace cinnabar::formats
