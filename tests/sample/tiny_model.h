// What the tests of pictures share: a small random model, and folders that vanish.
#pragma once

#include <filesystem>
#include <memory>

#include "cinnabar/models/diffusion_model.h"
#include "cinnabar/sample/request.h"

namespace cinnabar::sample {

std::unique_ptr<models::DiffusionModel> new_tiny_model();
// One for all tests; they leave it as it was.
models::DiffusionModel& tiny_model();

// 64x64, two steps.
SampleRequest small_request();

struct TemporaryFolder {
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace cinnabar::sample
