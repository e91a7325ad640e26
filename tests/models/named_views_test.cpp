#include "cinnabar/models/named_views.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/layer.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::models {

namespace {

class TwelveLayers : public nn::Module {
 public:
  TwelveLayers() {
    for (int i = 0; i < 12; ++i) {
      layers_.push_back(std::make_unique<nn::Linear>(2, 3));
      add("layer" + std::to_string(i), *layers_.back());
    }
  }

 private:
  std::vector<std::unique_ptr<nn::Linear>> layers_;
};

// Owns what the views look at.
struct File {
  std::map<std::string, at::Tensor> tensors;
  NamedViews views() {
    NamedViews result;
    for (const auto& [name, value] : tensors) result[name] = tensor::view_of(value);
    return result;
  }
};

File file_of(nn::Module& module) {
  File file;
  module.each_parameter(
      "", [&](const std::string& name, at::Tensor& value) { file.tensors["m." + name] = at::ones(value.sizes()); });
  return file;
}

std::string message_of(nn::Module& module, File& file) {
  const std::vector<LoadTarget> targets{{.module = &module, .prefix = "m."}};
  try {
    load_targets(file.views(), targets, at::kCPU, "f.safetensors",
                 [](const std::string& name) { return name == "m.known"; });
  } catch (const base::Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace

TEST_CASE("a mistyped name is reported with the one in the file") {
  nn::Linear linear(2, 3);
  File file = file_of(linear);
  file.tensors["m.wieght"] = file.tensors["m.weight"];
  file.tensors.erase("m.weight");
  const std::string message = message_of(linear, file);
  CHECK(message.find("f.safetensors: 2 tensors do not fit") != std::string::npos);
  CHECK(message.find("missing: m.weight (the file has m.wieght)") != std::string::npos);
  CHECK(message.find("unknown: m.wieght") != std::string::npos);
}

TEST_CASE("shapes must agree but for trailing ones") {
  nn::Linear linear(2, 3);
  File file = file_of(linear);
  file.tensors["m.weight"] = at::full({3, 2, 1, 1}, 5.0);
  CHECK(message_of(linear, file).empty());
  CHECK(linear.weight.sizes() == at::IntArrayRef({3, 2}));
  CHECK(linear.weight[2][1].item<float>() == 5.0F);
  file.tensors["m.weight"] = at::ones({2, 3});
  CHECK(message_of(linear, file).find("shape: m.weight is [2, 3], expected [3, 2]") != std::string::npos);
}

TEST_CASE("names that are known to be unused, and other prefixes, are passed over") {
  nn::Linear linear(2, 3);
  File file = file_of(linear);
  file.tensors["m.known"] = at::ones({1});
  file.tensors["other"] = at::ones({1});
  CHECK(message_of(linear, file).empty());
}

TEST_CASE("at most ten problems are listed, all are counted") {
  TwelveLayers layers;
  File file;
  file.tensors["m.layer0.weight"] = at::ones({3, 2});
  const std::string message = message_of(layers, file);
  CHECK(message.find("23 tensors do not fit") != std::string::npos);
  CHECK(message.find("and 13 more") != std::string::npos);
  CHECK(message.find("layer11") == std::string::npos);
}

TEST_CASE("whole numbers where weights are expected are refused by name") {
  nn::Linear linear(2, 3);
  File file = file_of(linear);
  file.tensors["m.weight"] = at::ones({3, 2}, at::kShort);
  CHECK(message_of(linear, file).find("type: m.weight holds whole numbers (I16), expected floating-point numbers") !=
        std::string::npos);
}

}  // namespace cinnabar::models
