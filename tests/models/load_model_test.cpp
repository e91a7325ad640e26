#include <doctest/doctest.h>
#include <unistd.h>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <filesystem>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/mapped_pages.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/models/sd/sd_model.h"
#include "cinnabar/tensor/convert.h"
#include "models/small_model.h"

namespace cinnabar::models {

namespace {

struct TemporaryFile {
  explicit TemporaryFile(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("cinnabar_models_" + std::to_string(getpid()) + "_" + name)) {}
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

void write_model(DiffusionModel& model, const std::filesystem::path& path, at::ScalarType dtype) {
  std::vector<at::Tensor> kept;
  std::vector<formats::NamedTensor> tensors;
  for (const auto& [name, value] : state_tensors(model)) {
    kept.push_back(value.to(dtype));
    tensors.push_back({name, tensor::view_of(kept.back())});
  }
  formats::write_safetensors(path, tensors, {});
}

sd::SdModel& as_sd(DiffusionModel& model) { return dynamic_cast<sd::SdModel&>(model); }

bool is_mapped(const at::Tensor& value) {
  return base::is_mapped({static_cast<const std::byte*>(value.const_data_ptr()), value.nbytes()});
}

at::Tensor predicted(DiffusionModel& model) {
  const at::Tensor noisy = at::arange(0, 4 * 8 * 8, at::kFloat).reshape({1, 4, 8, 8}) / 100.0;
  return model.predict(noisy, at::full({1}, 500), {.context = at::ones({1, 9, 12})});
}

}  // namespace

TEST_CASE("a model that was written is found by its content and is the same") {
  const auto model = sd::small_model();
  const TemporaryFile file("roundtrip.safetensors");
  std::vector<formats::NamedTensor> tensors;
  const auto state = state_tensors(*model);
  for (const auto& [name, value] : state) tensors.push_back({name, tensor::view_of(value)});
  formats::write_safetensors(file.path, tensors, {{"prediction_type", "v"}});

  const auto loaded = load_model(file.path.string(), {});
  CHECK(loaded->info().family == "sd1");
  CHECK(loaded->info().objective == Objective::Velocity);
  const auto found = state_tensors(*loaded);
  REQUIRE(found.size() == state.size());
  for (size_t i = 0; i < state.size(); ++i) {
    CAPTURE(state[i].first);
    CHECK(found[i].first == state[i].first);
    CHECK(at::equal(found[i].second, state[i].second));
  }
}

TEST_CASE("a file of no known family is refused with what was looked for") {
  const TemporaryFile file("unknown.safetensors");
  const at::Tensor value = at::zeros({2});
  formats::write_safetensors(file.path, {{"some.weight", tensor::view_of(value)}}, {});
  CHECK_THROWS_WITH_AS(load_model(file.path.string(), {}), doctest::Contains("sd1: Stable Diffusion 1.x"), base::Error);
  CHECK_THROWS_WITH_AS(load_model(file.path.string(), {}), doctest::Contains("the first is some.weight"), base::Error);
}

TEST_CASE("a lazy model gives what the other one gives, whatever is asked first") {
  const TemporaryFile file("lazy.safetensors");
  write_model(*sd::small_model(), file.path, at::kHalf);
  const auto all = load_model(file.path.string(), {});
  const auto lazy = load_model(file.path.string(), {.is_lazy = true});
  const at::NoGradGuard no_grad;
  const at::Tensor pixels = at::ones({1, 3, 8, 8});
  CHECK(at::equal(lazy->encode_moments(pixels), all->encode_moments(pixels)));
  CHECK(at::equal(predicted(*lazy), predicted(*all)));
  const at::Tensor ids = at::ones({1, 1, 9}, at::kLong);
  CHECK(at::equal(lazy->encode_text({.ids = {ids}}, {}).context, all->encode_text({.ids = {ids}}, {}).context));
  const auto found = state_tensors(*load_model(file.path.string(), {.is_lazy = true}));
  const auto expected = state_tensors(*all);
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(at::equal(found[i].second, expected[i].second));
}

TEST_CASE("parts of a lazy model that were released unread are gone, and the others can be used") {
  const TemporaryFile file("released.safetensors");
  write_model(*sd::small_model(), file.path, at::kFloat);
  const auto lazy = load_model(file.path.string(), {.is_lazy = true});
  lazy->release("text");
  lazy->release("vae");
  const at::NoGradGuard no_grad;
  CHECK(at::equal(predicted(*lazy), predicted(*load_model(file.path.string(), {}))));
  REQUIRE(lazy->parts().size() == 1);
  CHECK_THROWS_WITH_AS(as_sd(*lazy).text_encoder(), doctest::Contains("was released"), base::Error);
}

TEST_CASE("a lazy model refuses what does not fit when it is loaded") {
  const TemporaryFile file("misfit.safetensors");
  const auto model = sd::small_model();
  std::vector<formats::NamedTensor> tensors;
  for (const auto& [name, value] : state_tensors(*model)) {
    if (!name.ends_with("middle_block.0.in_layers.2.bias")) tensors.push_back({name, tensor::view_of(value)});
  }
  formats::write_safetensors(file.path, tensors, {});
  CHECK_THROWS_WITH_AS(load_model(file.path.string(), {.is_lazy = true}),
                       doctest::Contains("missing: model.diffusion_model.middle_block.0.in_layers.2.bias"),
                       base::Error);
}

TEST_CASE("weights of the right type are read from the file, and writing to them does not change it") {
  const TemporaryFile file("mapped.safetensors");
  write_model(*sd::small_model(), file.path, at::kFloat);
  const auto model = load_model(file.path.string(), {});
  at::Tensor first;
  as_sd(*model).unet().each_layer("", [&](const std::string& name, nn::Layer& layer) {
    CAPTURE(name);
    if (!first.defined()) first = layer.weight;
    if (!layer.shape().is_convolution) CHECK(is_mapped(layer.weight));
  });
  const at::Tensor before = first.clone();
  first.add_(1.0);
  CHECK(at::equal(first, before + 1.0));
  at::Tensor again;
  const auto other = load_model(file.path.string(), {});
  as_sd(*other).unet().each_parameter("", [&](const std::string&, at::Tensor& value) {
    if (!again.defined()) again = value;
  });
  CHECK(at::equal(again, before));
  const auto halved = load_model(file.path.string(), {.dtype = at::kHalf});
  as_sd(*halved).unet().each_parameter("",
                                       [](const std::string&, at::Tensor& value) { CHECK_FALSE(is_mapped(value)); });
}

TEST_CASE("convolutions have their weights where they compute with them") {
  const TemporaryFile file("turned.safetensors");
  write_model(*sd::small_model(), file.path, at::kHalf);
  for (const bool keeps : {false, true}) {
    const auto model = load_model(file.path.string(), {.keeps_file_types = keeps});
    std::vector<const void*> before, after;
    const auto note = [&](std::vector<const void*>& places) {
      as_sd(*model).unet().each_layer(
          "", [&](const std::string&, nn::Layer& layer) { places.push_back(layer.weight.const_data_ptr()); });
    };
    note(before);
    const at::NoGradGuard no_grad;
    (void)predicted(*model);
    note(after);
    CHECK((before == after));
  }
}

TEST_CASE("weights that keep the file's type give the same numbers") {
  const TemporaryFile file("kept.safetensors");
  write_model(*sd::small_model(), file.path, at::kHalf);
  const auto kept = load_model(file.path.string(), {.keeps_file_types = true});
  const auto wide = load_model(file.path.string(), {});
  int64_t narrow = 0;
  int64_t all = 0;
  as_sd(*kept).unet().each_parameter("", [&](const std::string&, at::Tensor& value) {
    all += value.numel();
    narrow += value.scalar_type() == at::kHalf ? value.numel() : 0;
  });
  CHECK(narrow > all / 2);
  const at::NoGradGuard no_grad;
  CHECK((predicted(*kept).scalar_type() == at::kFloat));
  CHECK(at::equal(predicted(*kept), predicted(*wide)));
}

}  // namespace cinnabar::models
