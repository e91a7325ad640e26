#include <doctest/doctest.h>
#include <unistd.h>

#include <ATen/ATen.h>

#include <filesystem>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/models/model_family.h"
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

}  // namespace cinnabar::models
