#include "cinnabar/schema/kohya_steps.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cinnabar/schema/value_text.h"

namespace cinnabar::schema {

namespace {

int64_t count_pictures(const std::filesystem::path& folder) {
  int64_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::string extension = entry.path().extension().string();
    for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".webp") ++count;
  }
  return count;
}

}  // namespace

int64_t kohya_step_count(const KohyaStepInputs& inputs) {
  double total = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(inputs.train_data_dir, error)) {
    if (!entry.is_directory(error)) continue;
    const std::string name = entry.path().filename().string();
    const auto repeats = parse_integer(name.substr(0, name.find('_')));
    if (!repeats || *repeats < 1) continue;
    total += static_cast<double>(*repeats) * static_cast<double>(count_pictures(entry.path()));
  }
  const double factor = inputs.has_regularisation ? 2.0 : 1.0;
  const double steps = std::ceil(total / inputs.batch_size / inputs.accumulation * inputs.epochs * factor);
  constexpr double kLargest = 1e15;  // the option's own range says what is wrong with it
  return static_cast<int64_t>(std::min(steps, kLargest));
}

}  // namespace cinnabar::schema
