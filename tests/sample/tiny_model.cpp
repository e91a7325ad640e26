#include "sample/tiny_model.h"

#include <unistd.h>

#include <string>

#include "cinnabar/models/model_family.h"

namespace cinnabar::sample {

std::unique_ptr<models::DiffusionModel> new_tiny_model() {
  return models::model_families().at("sd1").create({.size = "tiny", .seed = 3});
}

models::DiffusionModel& tiny_model() {
  static const std::unique_ptr<models::DiffusionModel> model = new_tiny_model();
  return *model;
}

SampleRequest small_request() {
  return {.prompt = "a red fox", .width_px = 64, .height_px = 64, .steps = 2, .seed = 7, .sampler = "euler"};
}

TemporaryFolder::TemporaryFolder() {
  static int count = 0;
  path = std::filesystem::temp_directory_path() /
         ("cinnabar_sample_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
  std::filesystem::create_directories(path);
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path); }

}  // namespace cinnabar::sample
