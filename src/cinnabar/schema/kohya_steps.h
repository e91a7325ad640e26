// The number of training steps as the kohya_ss GUI counts it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace cinnabar::schema {

struct KohyaStepInputs {
  std::filesystem::path train_data_dir;
  bool has_regularisation = false;  // doubles the number
  double batch_size = 1;
  double accumulation = 1;
  double epochs = 1;
};

// Pictures (jpg, jpeg, png, webp) of the sub-folders REPEATS_NAME times their repeats, by batch and accumulation, times
// epochs, rounded up. 0 when nothing is found.
int64_t kohya_step_count(const KohyaStepInputs& inputs);

}  // namespace cinnabar::schema
